"""What may be asked of somebody who keeps our theater's books with hledger-web."""

import random
from decimal import Decimal

from environments.apps.application import Record
from environments.apps.hledger.content import CURRENCY, SOURCES
from environments.apps.ledgers.book import Book, balances, postings, some_day, target
from environments.apps.ledgers.months import called
from environments.apps.templates import Instance, State, Template, ask, cannot, leaves, says, shows

_STRANGERS = ("Copper Kettle", "Lantern Works", "Grand Piano Movers", "Sable Insurance", "Ivy Gardeners")
_NEW_THINGS = ("First aid kit", "Ladder", "Desk lamp", "Microphone stand", "Fire blanket", "Coat hangers")
_NO_ACCOUNTS = ("expenses:travel", "expenses:postage", "assets:savings", "income:bar", "expenses:music")
BOOK = Book(lambda one: bool(one["code"]), lambda one: one["description"].partition(" | ")[0])


def _transaction(day: str, description: str, moved: dict[str, Decimal]) -> Record:
    legs = sorted(f"{account} {number:.2f} {CURRENCY}" for account, number in moved.items())
    empty = {"kind": "transaction", "status": "", "code": "", "comment": ""}
    return {**empty, "date": day, "description": description, "postings": ", ".join(legs)}


def _invoice_payee(state: State, rng: random.Random) -> Instance:
    payment = rng.choice(BOOK.spending(state))
    return Instance({"code": payment["code"]}, says(BOOK.payee(payment), BOOK.payees(state)))


def _open_account(state: State, rng: random.Random) -> Instance:
    account = rng.choice(BOOK.expenses(state))
    return Instance({"account": account}, shows(f"/register?inacct:{account}"))


def _open_month(state: State, rng: random.Random) -> Instance:
    month = rng.choice(BOOK.months(state))
    return Instance({"month": called(month)}, shows(f"/journal?date:{month}"))


def _book_payment(state: State, rng: random.Random) -> Instance:
    paid = Decimal(rng.randrange(501, 19_999, 2)) / 100
    source, target = rng.choice(SOURCES), rng.choice(BOOK.expenses(state))
    slots = {"date": some_day(rng), "description": rng.choice(_NEW_THINGS), "amount": f"{paid:.2f}"}
    wanted = _transaction(slots["date"], slots["description"], {source: -paid, target: paid})
    return Instance({**slots, "source": source, "target": target}, leaves([wanted]))


def _split_payment(state: State, rng: random.Random) -> Instance:
    one, other = (Decimal(cents) / 100 for cents in rng.sample(range(501, 9_999, 2), 2))
    first, second = rng.sample(BOOK.expenses(state), 2)
    source = rng.choice(SOURCES)
    slots = {"date": some_day(rng), "description": rng.choice(_NEW_THINGS), "source": source}
    wanted = _transaction(slots["date"], slots["description"], {first: one, second: other, source: -one - other})
    parts = {"first": first, "one": f"{one:.2f}", "second": second, "other": f"{other:.2f}"}
    return Instance({**slots, **parts}, leaves([wanted]))


def _correct_account(state: State, rng: random.Random) -> Instance:
    payment, day = rng.choice(BOOK.spending(state)), some_day(rng)
    old, paid = target(payment), max(postings(payment).values())
    new = rng.choice([one for one in BOOK.expenses(state) if one != old])
    wanted = _transaction(day, "Correction", {old: -paid, new: paid})
    return Instance({**BOOK.about(payment), "old": old, "new": new, "day": day}, leaves([wanted]))


def _reverse_payment(state: State, rng: random.Random) -> Instance:
    payment, day = rng.choice(BOOK.spending(state)), some_day(rng)
    wanted = _transaction(day, "Refund", {account: -number for account, number in postings(payment).items()})
    return Instance({**BOOK.about(payment), "day": day}, leaves([wanted]))


def _reverse_the_one(state: State, rng: random.Random) -> Instance:
    payment, slots = BOOK.the_one(state, rng)
    day = some_day(rng)
    wanted = _transaction(day, "Refund", {account: -number for account, number in postings(payment).items()})
    return Instance({**slots, "day": day}, leaves([wanted]))


def _empty_cash(state: State, rng: random.Random) -> Instance:
    day, held = some_day(rng), balances(state)["assets:cash"]
    kept = Decimal(rng.randrange(50, 1000, 10))
    wanted = _transaction(day, "Cash to the bank", {"assets:cash": kept - held, "assets:bank": held - kept})
    return Instance({"day": day, "kept": f"{kept}"}, leaves([wanted]))


def _pay_again(state: State, rng: random.Random) -> Instance:
    payment, day = rng.choice(BOOK.spending(state)), some_day(rng)
    return Instance(
        {**BOOK.about(payment), "day": day}, leaves([_transaction(day, payment["description"], postings(payment))])
    )


def _no_account(state: State, rng: random.Random) -> Instance:
    return Instance({"account": rng.choice(_NO_ACCOUNTS), "month": called(rng.choice(BOOK.months(state)))}, cannot())


def _no_payment(state: State, rng: random.Random) -> Instance:
    return Instance({"payee": rng.choice(_STRANGERS), "date": rng.choice(BOOK.payments(state))["date"]}, cannot())


TEMPLATES: dict[str, Template] = {
    "paid-amount": ask(
        "answer",
        BOOK.paid_amount,
        "How many euros did the theater pay {payee} on {date}?",
        "Look up how much the payment to {payee} of {date} was.",
        "I need the amount that {payee} got from us on {date}.",
        "{payee} says that we paid on {date}. How much was it?",
    ),
    "month-spending": ask(
        "answer",
        BOOK.month_spending,
        "What do the expenses in {account} add up to in {month}?",
        "How many euros went to {account} in {month}?",
        "For {month} the treasurer wants the total of {account}. What is it?",
    ),
    "invoice-payee": ask(
        "answer",
        _invoice_payee,
        "Our journal has a transaction with the code {code}. Whom did we pay?",
        "Whose invoice was booked under the code {code}?",
        "A note says only: code {code}. Find the payee in the journal.",
    ),
    "account-balance": ask(
        "answer",
        BOOK.account_balance,
        "What is the balance of {account} over the whole journal?",
        "Add up all that the journal knows of {account}: what is its balance?",
        split="test",
    ),
    "open-account": ask(
        "open",
        _open_account,
        "Show me the register of the account {account}.",
        "Go to the account {account} and leave the list of its transactions open, without any other filter.",
        "I want to see everything that was booked on {account}, and nothing else.",
    ),
    "open-month": ask(
        "open",
        _open_month,
        "Show me the general journal of {month}, filtered by its date and by nothing else.",
        "Search the general journal for the transactions dated in {month} and leave the result open.",
    ),
    "book-payment": ask(
        "create",
        _book_payment,
        "Book {amount} EUR from {source} to {target} on {date} with the description {description}.",
        (
            "On {date} {amount} EUR went from {source} to {target}. Add the transaction. Its description is "
            "{description}."
        ),
        (
            "Add a transaction dated {date} for this: {description}. It cost {amount} EUR, which came from {source} "
            "and belongs to {target}."
        ),
    ),
    "split-payment": ask(
        "create",
        _split_payment,
        (
            "Add one transaction dated {date} with the description {description}: {one} EUR for {first} and {other} "
            "EUR for {second}, all from {source}."
        ),
        (
            "We paid from {source} on {date}. Of it {one} EUR belong to {first} and {other} EUR to {second}. Book it "
            "as a single transaction described as {description}."
        ),
        split="test",
    ),
    "correct-account": ask(
        "edit",
        _correct_account,
        (
            "What we paid {payee} on {date} was booked on {old}, but belongs to {new}. Correct it by a transaction of "
            "{day} with the description Correction, which moves the amount."
        ),
        (
            "Move the amount of the payment to {payee} of {date} from {old} to {new}. Date the transaction {day} and "
            "describe it as Correction."
        ),
    ),
    "reverse-payment": ask(
        "edit",
        _reverse_payment,
        (
            "{payee} paid back all that we paid on {date}. Undo that payment by a transaction of {day} with the "
            "description Refund, on the same two accounts."
        ),
        (
            "Reverse the payment to {payee} of {date}: add a transaction dated {day}, described as Refund, that takes "
            "the amount back to the account that it came from."
        ),
    ),
    "find-the-one": ask(
        "constraints",
        BOOK.find_the_one,
        "One payment of {month} went from {source} to {target}. Who was the payee?",
        "Whom did we pay when money went from {source} to {target} in {month}?",
    ),
    "reverse-the-one": ask(
        "constraints",
        _reverse_the_one,
        (
            "Reverse the only payment of {month} that went from {source} to {target}, by a transaction dated {day} and "
            "described as Refund."
        ),
        (
            "In {month} there is one payment from {source} to {target}. It came back. Book it the other way round on "
            "{day} with the description Refund."
        ),
        split="test",
    ),
    "empty-cash": ask(
        "steps",
        _empty_cash,
        (
            "On {day} we took cash to the bank and kept {kept} EUR. Look up what assets:cash holds, and book the "
            "difference to assets:bank with the description Cash to the bank."
        ),
        (
            "Leave {kept} EUR in assets:cash. Book all the rest of its balance to assets:bank, dated {day} and "
            "described as Cash to the bank."
        ),
    ),
    "pay-again": ask(
        "steps",
        _pay_again,
        (
            "We bought the same once more. Book the payment to {payee} of {date} again with the date {day}: same "
            "description, accounts and amount."
        ),
        "Repeat the transaction with {payee} of {date}. Nothing but the date is new, which is {day}.",
        split="test",
    ),
    "no-such-account": ask(
        "impossible",
        _no_account,
        "How much was booked on the account {account} in {month}?",
        "Tell me the total of {account} for {month}.",
    ),
    "no-such-payment": ask(
        "impossible",
        _no_payment,
        "What did we buy from {payee} on {date}?",
        "Tell me the full description of the transaction with {payee} of {date}.",
    ),
}

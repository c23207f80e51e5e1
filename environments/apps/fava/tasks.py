"""What may be asked of somebody who keeps our account book with Fava."""

import random
from decimal import Decimal

from environments.apps.application import Record
from environments.apps.fava.content import CURRENCY, SOURCES
from environments.apps.ledgers.book import Book, amount, balances, postings, some_day, source, target
from environments.apps.ledgers.months import called
from environments.apps.templates import Instance, State, Template, ask, cannot, leaves, says, shows

_BOOK = "/bicycle-workshop"
_REPORTS = {"income statement": "income_statement", "balance sheet": "balance_sheet", "trial balance": "trial_balance"}
_STRANGERS = ("Quarry Glass Works", "Sunset Laundry", "Blue Door Cinema", "Alder Piano Repair", "Fifth Street Dairy")
_NEW_THINGS = ("Floor paint", "First aid kit", "Door lock", "Ladder", "Office chair", "Desk lamp")
_REMARKS = (
    "The invoice is still missing",
    "Paid twice by mistake",
    "The price goes up next year",
    "Belongs to the stand at the fair",
    "Half of it is private",
)
_NO_ACCOUNTS = ("Expenses:Travel", "Expenses:Postage", "Assets:Savings", "Expenses:Training", "Income:Rental")
BOOK = Book(lambda one: bool(one["payee"]) and len(postings(one)) == 2, lambda one: one["payee"])


def _paid_from(state: State, rng: random.Random) -> Instance:
    payment = rng.choice(BOOK.spending(state))
    return Instance(BOOK.about(payment), says(source(payment), SOURCES))


def _open_account(state: State, rng: random.Random) -> Instance:
    account = rng.choice(sorted(balances(state)))
    return Instance({"account": account}, shows(f"{_BOOK}/account/{account}"))


def _open_report(state: State, rng: random.Random) -> Instance:
    report, month = rng.choice(list(_REPORTS)), rng.choice(BOOK.months(state))
    return Instance({"report": report, "month": called(month)}, shows(f"{_BOOK}/{_REPORTS[report]}?time={month}"))


def _note(day: str, account: str, text: str) -> Record:
    return {"kind": "note", "date": day, "account": account, "meta": "", "text": text}


def _add_note(state: State, rng: random.Random) -> Instance:
    slots = {"account": rng.choice(BOOK.expenses(state)), "date": some_day(rng), "text": rng.choice(_REMARKS)}
    return Instance(slots, leaves([_note(slots["date"], slots["account"], slots["text"])]))


def _balance(day: str, account: str, number: Decimal) -> Record:
    return {"kind": "balance", "date": day, "account": account, "meta": "", "amount": f"{number} {CURRENCY}"}


def _add_balance(state: State, rng: random.Random) -> Instance:
    account = rng.choice(SOURCES[:2])
    number = balances(state)[account]
    slots = {"account": account, "date": some_day(rng), "amount": f"{number}"}
    return Instance(slots, leaves([_balance(slots["date"], account, number)]))


def _transaction(payment: dict[str, str], source: str, target: str, paid: str) -> Record:
    legs = sorted((f"{source} -{paid} {CURRENCY}", f"{target} {paid} {CURRENCY}"))
    empty = {"kind": "transaction", "flag": "*", "tags": "", "meta": ""}
    return {**empty, **payment, "postings": ", ".join(legs)}


def _book_payment(state: State, rng: random.Random) -> Instance:
    slots = {
        "date": some_day(rng),
        "narration": rng.choice(_NEW_THINGS),
        "amount": f"{Decimal(rng.randrange(501, 19_999, 2)) / 100:.2f}",
        "source": rng.choice(SOURCES),
        "target": rng.choice(BOOK.expenses(state)),
    }
    about = {"date": slots["date"], "payee": "", "narration": slots["narration"]}
    return Instance(slots, leaves([_transaction(about, slots["source"], slots["target"], slots["amount"])]))


def _delete_payment(state: State, rng: random.Random) -> Instance:
    payment = rng.choice(BOOK.payments(state))
    return Instance(BOOK.about(payment), leaves([], [payment]))


def _correct_amount(state: State, rng: random.Random) -> Instance:
    payment = rng.choice(BOOK.spending(state))
    new = f"{Decimal(amount(payment)) + rng.choice((1, 2, 5, 10)):.2f}"
    about = {name: payment[name] for name in ("date", "payee", "narration", "flag")}
    right = _transaction(about, source(payment), target(payment), new)
    return Instance({**BOOK.about(payment), "old": amount(payment), "new": new}, leaves([right], [payment]))


def _delete_the_one(state: State, rng: random.Random) -> Instance:
    payment, slots = BOOK.the_one(state, rng)
    return Instance(slots, leaves([], [payment]))


def _confirm_balance(state: State, rng: random.Random) -> Instance:
    account, day = rng.choice(SOURCES[:2]), some_day(rng)
    return Instance({"account": account, "date": day}, leaves([_balance(day, account, balances(state)[account])]))


def _note_on_payment(state: State, rng: random.Random) -> Instance:
    payment, day, text = rng.choice(BOOK.spending(state)), some_day(rng), rng.choice(_REMARKS)
    truth = leaves([_note(day, target(payment), text)])
    return Instance({**BOOK.about(payment), "day": day, "text": text}, truth)


def _no_account(state: State, rng: random.Random) -> Instance:
    return Instance(
        {"account": rng.choice(_NO_ACCOUNTS), "date": some_day(rng), "text": rng.choice(_REMARKS)}, cannot()
    )


def _no_payment(state: State, rng: random.Random) -> Instance:
    return Instance({"payee": rng.choice(_STRANGERS), "date": rng.choice(BOOK.payments(state))["date"]}, cannot())


TEMPLATES: dict[str, Template] = {
    "paid-amount": ask(
        "answer",
        BOOK.paid_amount,
        "How many euros did the workshop pay {payee} on {date}?",
        "Look up how much the payment to {payee} of {date} was.",
        "I need the amount that {payee} got from us on {date}.",
    ),
    "paid-from": ask(
        "answer",
        _paid_from,
        "Which account did the money for {payee} on {date} come from? Give its full name.",
        "On {date} we paid {payee}. From which account, by its full name?",
    ),
    "month-spending": ask(
        "answer",
        BOOK.month_spending,
        "What do the expenses in {account} add up to in {month}?",
        "How many euros went to {account} in {month}?",
        "For {month} the tax office asks for the total of {account}. What is it?",
    ),
    "account-balance": ask(
        "answer",
        BOOK.account_balance,
        "What is the balance of {account} over the whole book?",
        "Add up all that the book knows of {account}: what is its balance?",
        split="test",
    ),
    "open-account": ask(
        "open",
        _open_account,
        "Show me the page of the account {account}.",
        "Go to the account {account} and leave its page open, without any filter.",
    ),
    "open-report": ask(
        "open",
        _open_report,
        "Show me the {report} of {month} and nothing but that month.",
        "Open the {report} with the time filter set to {month}.",
    ),
    "add-note": ask(
        "create",
        _add_note,
        "Add a note to the account {account}, dated {date}: {text}.",
        "Write down a note of {date} on {account}. It should read: {text}.",
    ),
    "add-balance": ask(
        "create",
        _add_balance,
        "Enter a balance of {amount} EUR for {account} with the date {date}.",
        "On {date} there were {amount} EUR in {account}. Enter this as a balance.",
        split="test",
    ),
    "book-payment": ask(
        "create",
        _book_payment,
        ("Book {amount} EUR from {source} to {target} on {date}, without a payee, and with the narration {narration}."),
        (
            "On {date} {amount} EUR went from {source} to {target}. Add the transaction. It has no payee, and its "
            "narration is {narration}."
        ),
    ),
    "delete-payment": ask(
        "edit",
        _delete_payment,
        "Delete the transaction with {payee} of {date}.",
        "The entry about {payee} on {date} does not belong in the book. Delete it.",
    ),
    "correct-amount": ask(
        "edit",
        _correct_amount,
        "We paid {payee} {new} EUR on {date}, but {old} EUR were booked. Correct it, and keep all the rest.",
        "Change the amount of the payment to {payee} on {date} from {old} EUR to {new} EUR.",
    ),
    "find-the-one": ask(
        "constraints",
        BOOK.find_the_one,
        "One payment of {month} went from {source} to {target}. Who was the payee?",
        "Whom did we pay when money went from {source} to {target} in {month}?",
    ),
    "delete-the-one": ask(
        "constraints",
        _delete_the_one,
        "Delete the only transaction of {month} that went from {source} to {target}.",
        "In {month} there is one payment from {source} to {target}. It is wrong, delete it.",
        split="test",
    ),
    "confirm-balance": ask(
        "steps",
        _confirm_balance,
        "Look up the balance of {account} over the whole book, and enter it as a balance with the date {date}.",
        "Enter a balance for {account} dated {date}, of just the amount that the balance sheet gives.",
    ),
    "note-on-payment": ask(
        "steps",
        _note_on_payment,
        "Find the expense account of the payment to {payee} on {date}, and add a note to it, dated {day}: {text}.",
        (
            "Which expense account was the payment of {date} to {payee} booked on? Add this note to it, "
            "dated {day}: {text}."
        ),
        split="test",
    ),
    "no-such-account": ask(
        "impossible",
        _no_account,
        "Put a note on {account}, with the date {date}: {text}.",
        "The account {account} needs a note of {date} that says: {text}.",
    ),
    "no-such-payment": ask(
        "impossible",
        _no_payment,
        "What did we pay {payee} for on {date}? Say the narration.",
        "Tell me the narration of the transaction with {payee} of {date}.",
    ),
}

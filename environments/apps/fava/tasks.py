"""What may be asked of somebody who keeps our account book with Fava."""

import calendar
import random
import re
from decimal import Decimal

from environments.apps.application import Record
from environments.apps.fava.content import CURRENCY, SOURCES
from environments.apps.templates import Instance, State, Template, cannot, leaves, says, shows

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
_POSTING = re.compile(r"([A-Z][\w:-]+) (-?[\d.]+) " + CURRENCY)


def payments(state: State) -> list[Record]:
    """Transactions with somebody, each of two postings."""
    return [one for one in state.of("transaction") if one["payee"] and len(postings(one)) == 2]


def postings(transaction: Record) -> dict[str, Decimal]:
    """Amounts by account."""
    return {account: Decimal(number) for account, number in _POSTING.findall(transaction["postings"])}


def amount(payment: Record) -> str:
    """What was paid, without the currency."""
    return f"{max(postings(payment).values())}"


def source(payment: Record) -> str:
    """The account that it came from."""
    return min(postings(payment), key=lambda account: postings(payment)[account])


def target(payment: Record) -> str:
    """The account that it went to."""
    return max(postings(payment), key=lambda account: postings(payment)[account])


def _spending(state: State) -> list[Record]:
    return [one for one in payments(state) if target(one).startswith("Expenses:")]


def _expenses(state: State) -> list[str]:
    return sorted({target(one) for one in _spending(state)})


def balances(state: State, month: str = "") -> dict[str, Decimal]:
    """What is in each account, or came there in a month such as 2025-03."""
    sums: dict[str, Decimal] = {}
    for one in state.of("transaction"):
        if one["date"].startswith(month):
            for account, number in postings(one).items():
                sums[account] = sums.get(account, Decimal(0)) + number
    return sums


def _called(month: str) -> str:
    """March 2025 for 2025-03."""
    year, number = month.split("-")
    return f"{calendar.month_name[int(number)]} {year}"


def _months(state: State) -> list[str]:
    return sorted({one["date"][:7] for one in payments(state)})


def _about(payment: Record) -> dict[str, str]:
    """What tells a payment from all others."""
    return {"payee": payment["payee"], "date": payment["date"]}


def _paid_amount(state: State, rng: random.Random) -> Instance:
    payment = rng.choice(_spending(state))
    others = tuple(amount(one) for one in payments(state) if one is not payment)
    return Instance(_about(payment), says(amount(payment), others))


def _paid_from(state: State, rng: random.Random) -> Instance:
    payment = rng.choice(_spending(state))
    return Instance(_about(payment), says(source(payment), SOURCES))


def _month_spending(state: State, rng: random.Random) -> Instance:
    spent = {month: balances(state, month) for month in _months(state)}
    pairs = [(account, month) for month in spent for account in _expenses(state) if account in spent[month]]
    account, month = rng.choice(pairs)
    others = tuple(f"{sums[account]}" for sums in spent.values() if account in sums)
    return Instance({"account": account, "month": _called(month)}, says(f"{spent[month][account]}", others))


def _account_balance(state: State, rng: random.Random) -> Instance:
    sums = {account: f"{number}" for account, number in balances(state).items()}
    account = rng.choice([one for one in sums if one.startswith(("Assets:", "Expenses:"))])
    return Instance({"account": account}, says(sums[account], tuple(sums.values())))


def _open_account(state: State, rng: random.Random) -> Instance:
    account = rng.choice(sorted(balances(state)))
    return Instance({"account": account}, shows(f"{_BOOK}/account/{account}"))


def _open_report(state: State, rng: random.Random) -> Instance:
    report, month = rng.choice(list(_REPORTS)), rng.choice(_months(state))
    return Instance({"report": report, "month": _called(month)}, shows(f"{_BOOK}/{_REPORTS[report]}?time={month}"))


def _note(day: str, account: str, text: str) -> Record:
    return {"kind": "note", "date": day, "account": account, "meta": "", "text": text}


def _day(rng: random.Random) -> str:
    return f"2026-01-{rng.randint(5, 14):02}"


def _add_note(state: State, rng: random.Random) -> Instance:
    slots = {"account": rng.choice(_expenses(state)), "date": _day(rng), "text": rng.choice(_REMARKS)}
    return Instance(slots, leaves([_note(slots["date"], slots["account"], slots["text"])]))


def _balance(day: str, account: str, number: Decimal) -> Record:
    return {"kind": "balance", "date": day, "account": account, "meta": "", "amount": f"{number} {CURRENCY}"}


def _add_balance(state: State, rng: random.Random) -> Instance:
    account = rng.choice(SOURCES[:2])
    number = balances(state)[account]
    slots = {"account": account, "date": _day(rng), "amount": f"{number}"}
    return Instance(slots, leaves([_balance(slots["date"], account, number)]))


def _transaction(payment: dict[str, str], source: str, target: str, paid: str) -> Record:
    legs = sorted((f"{source} -{paid} {CURRENCY}", f"{target} {paid} {CURRENCY}"))
    empty = {"kind": "transaction", "flag": "*", "tags": "", "meta": ""}
    return {**empty, **payment, "postings": ", ".join(legs)}


def _book_payment(state: State, rng: random.Random) -> Instance:
    slots = {
        "date": _day(rng),
        "narration": rng.choice(_NEW_THINGS),
        "amount": f"{Decimal(rng.randrange(501, 19_999, 2)) / 100:.2f}",
        "source": rng.choice(SOURCES),
        "target": rng.choice(_expenses(state)),
    }
    about = {"date": slots["date"], "payee": "", "narration": slots["narration"]}
    return Instance(slots, leaves([_transaction(about, slots["source"], slots["target"], slots["amount"])]))


def _delete_payment(state: State, rng: random.Random) -> Instance:
    payment = rng.choice(payments(state))
    return Instance(_about(payment), leaves([], [payment]))


def _correct_amount(state: State, rng: random.Random) -> Instance:
    payment = rng.choice(_spending(state))
    new = f"{Decimal(amount(payment)) + rng.choice((1, 2, 5, 10)):.2f}"
    about = {name: payment[name] for name in ("date", "payee", "narration", "flag")}
    right = _transaction(about, source(payment), target(payment), new)
    return Instance({**_about(payment), "old": amount(payment), "new": new}, leaves([right], [payment]))


def _the_one(state: State, rng: random.Random) -> tuple[Record, dict[str, str]]:
    """A payment that no other one shares its month and both accounts with."""
    known = _spending(state)
    keys = [(one["date"][:7], source(one), target(one)) for one in known]
    payment, key = rng.choice([pair for pair in zip(known, keys, strict=True) if keys.count(pair[1]) == 1])
    return payment, {"month": _called(key[0]), "source": key[1], "target": key[2]}


def _find_the_one(state: State, rng: random.Random) -> Instance:
    payment, slots = _the_one(state, rng)
    return Instance(slots, says(payment["payee"], tuple(sorted({one["payee"] for one in payments(state)}))))


def _delete_the_one(state: State, rng: random.Random) -> Instance:
    payment, slots = _the_one(state, rng)
    return Instance(slots, leaves([], [payment]))


def _confirm_balance(state: State, rng: random.Random) -> Instance:
    account, day = rng.choice(SOURCES[:2]), _day(rng)
    return Instance({"account": account, "date": day}, leaves([_balance(day, account, balances(state)[account])]))


def _note_on_payment(state: State, rng: random.Random) -> Instance:
    payment, day, text = rng.choice(_spending(state)), _day(rng), rng.choice(_REMARKS)
    truth = leaves([_note(day, target(payment), text)])
    return Instance({**_about(payment), "day": day, "text": text}, truth)


def _no_account(state: State, rng: random.Random) -> Instance:
    return Instance({"account": rng.choice(_NO_ACCOUNTS), "date": _day(rng), "text": rng.choice(_REMARKS)}, cannot())


def _no_payment(state: State, rng: random.Random) -> Instance:
    return Instance({"payee": rng.choice(_STRANGERS), "date": rng.choice(payments(state))["date"]}, cannot())


TEMPLATES: dict[str, Template] = {
    "paid-amount": Template(
        "answer",
        (
            "How many euros did the workshop pay {payee} on {date}?",
            "Look up how much the payment to {payee} of {date} was.",
            "I need the amount that {payee} got from us on {date}.",
        ),
        _paid_amount,
    ),
    "paid-from": Template(
        "answer",
        (
            "Which account did the money for {payee} on {date} come from? Give its full name.",
            "On {date} we paid {payee}. From which account, by its full name?",
        ),
        _paid_from,
    ),
    "month-spending": Template(
        "answer",
        (
            "What do the expenses in {account} add up to in {month}?",
            "How many euros went to {account} in {month}?",
            "For {month} the tax office asks for the total of {account}. What is it?",
        ),
        _month_spending,
    ),
    "account-balance": Template(
        "answer",
        (
            "What is the balance of {account} over the whole book?",
            "Add up all that the book knows of {account}: what is its balance?",
        ),
        _account_balance,
        "test",
    ),
    "open-account": Template(
        "open",
        (
            "Show me the page of the account {account}.",
            "Go to the account {account} and leave its page open, without any filter.",
        ),
        _open_account,
    ),
    "open-report": Template(
        "open",
        (
            "Show me the {report} of {month} and nothing but that month.",
            "Open the {report} with the time filter set to {month}.",
        ),
        _open_report,
    ),
    "add-note": Template(
        "create",
        (
            "Add a note to the account {account}, dated {date}: {text}.",
            "Write down a note of {date} on {account}. It should read: {text}.",
        ),
        _add_note,
    ),
    "add-balance": Template(
        "create",
        (
            "Enter a balance of {amount} EUR for {account} with the date {date}.",
            "On {date} there were {amount} EUR in {account}. Enter this as a balance.",
        ),
        _add_balance,
        "test",
    ),
    "book-payment": Template(
        "create",
        (
            "Book {amount} EUR from {source} to {target} on {date}, "
            "without a payee, and with the narration {narration}.",
            "On {date} {amount} EUR went from {source} to {target}. Add the transaction. It has no payee, and its "
            "narration is {narration}.",
        ),
        _book_payment,
    ),
    "delete-payment": Template(
        "edit",
        (
            "Delete the transaction with {payee} of {date}.",
            "The entry about {payee} on {date} does not belong in the book. Delete it.",
        ),
        _delete_payment,
    ),
    "correct-amount": Template(
        "edit",
        (
            "We paid {payee} {new} EUR on {date}, but {old} EUR were booked. Correct it, and keep all the rest.",
            "Change the amount of the payment to {payee} on {date} from {old} EUR to {new} EUR.",
        ),
        _correct_amount,
    ),
    "find-the-one": Template(
        "constraints",
        (
            "One payment of {month} went from {source} to {target}. Who was the payee?",
            "Whom did we pay when money went from {source} to {target} in {month}?",
        ),
        _find_the_one,
    ),
    "delete-the-one": Template(
        "constraints",
        (
            "Delete the only transaction of {month} that went from {source} to {target}.",
            "In {month} there is one payment from {source} to {target}. It is wrong, delete it.",
        ),
        _delete_the_one,
        "test",
    ),
    "confirm-balance": Template(
        "steps",
        (
            "Look up the balance of {account} over the whole book, and enter it as a balance with the date {date}.",
            "Enter a balance for {account} dated {date}, of just the amount that the balance sheet gives.",
        ),
        _confirm_balance,
    ),
    "note-on-payment": Template(
        "steps",
        (
            "Find the expense account of the payment to {payee} on {date}, and add a note to it, dated {day}: {text}.",
            "Which expense account was the payment of {date} to {payee} booked on? Add this note to it, "
            "dated {day}: {text}.",
        ),
        _note_on_payment,
        "test",
    ),
    "no-such-account": Template(
        "impossible",
        (
            "Put a note on {account}, with the date {date}: {text}.",
            "The account {account} needs a note of {date} that says: {text}.",
        ),
        _no_account,
    ),
    "no-such-payment": Template(
        "impossible",
        (
            "What did we pay {payee} for on {date}? Say the narration.",
            "Tell me the narration of the transaction with {payee} of {date}.",
        ),
        _no_payment,
    ),
}

"""What our Fava holds: a year in the account book of a made-up bicycle workshop, drawn from a seed."""

import dataclasses
import random
from datetime import date, timedelta
from decimal import Decimal

TITLE = "Bicycle Workshop"
CURRENCY = "EUR"
BEGIN = date(2025, 1, 2)
DAYS = 360
NUM_PAYMENTS = 150
SOURCES = ("Assets:Bank", "Assets:Cash", "Liabilities:Card")
OPENING = {"Assets:Bank": Decimal("12200.00"), "Assets:Cash": Decimal("1640.00")}  # so that both stay above 0

_SPENT = {
    "Expenses:Parts": (
        ("Kestrel Cycle Supply", "Ironwood Components", "Northwind Bearings"),
        ("Brake pads", "Inner tubes", "Chain links", "Spoke set", "Gear cables", "Saddle clamps"),
    ),
    "Expenses:Tools": (
        ("Hammer and Vise", "Ironwood Components", "Old Quarter Hardware"),
        ("Torque wrench", "Truing stand", "Work gloves", "Chain whip", "Allen keys"),
    ),
    "Expenses:Rent": (("Canal Street Estates",), ("Workshop rent", "Storage room", "Yard space")),
    "Expenses:Power": (("Lakeside Energy",), ("Electricity", "Heating", "Meter reading")),
    "Expenses:Phone": (("Telewave", "Harbor Broadband"), ("Phone bill", "Internet line", "New handset")),
    "Expenses:Coffee": (("Bean Corner", "Rosa Bakery"), ("Coffee beans", "Rolls for the team", "Oat milk")),
    "Expenses:Posters": (("Inkwell Print", "Harbor Gazette"), ("Flyers", "Window sign", "Small advertisement")),
    "Expenses:Insurance": (("Mutual of Aldvik",), ("Liability cover", "Theft cover")),
}
_EARNED = {
    "Income:Repairs": (
        ("Amira Holt", "Ben Castell", "Clara Voss", "Diego Marsh", "Greta Lind", "Tomas Ferro"),
        ("Full service", "New brakes", "Wheel repair", "Puncture", "Gear tuning"),
    ),
    "Income:Sales": (
        ("Jonas Pike", "Leila Brandt", "Mina Okoro", "Oskar Thale", "Ruth Calder"),
        ("Used city bike", "Child seat", "Basket and bell", "Set of lights", "Pannier bags"),
    ),
}
_NOTES = (
    "Ask for a receipt with the tax number",
    "The contract ends in December",
    "Rounded to the next cent",
    "Reviewed with the accountant",
    "Two invoices were sent as one",
)


@dataclasses.dataclass(frozen=True)
class Payment:
    """Money that went from `source` to `target`."""

    day: date
    flag: str
    payee: str
    narration: str
    source: str
    target: str
    amount: Decimal


@dataclasses.dataclass(frozen=True)
class Content:
    """Payments and (day, account, text) of notes, by day."""

    payments: list[Payment]
    notes: list[tuple[date, str, str]]


def accounts() -> list[str]:
    """All of them."""
    return [*SOURCES, "Equity:Opening", *_EARNED, *_SPENT]


def make(seed: int = 0) -> Content:
    """The same for the same seed. No two payments are of the same amount, or of the same day and payee."""
    rng = random.Random(f"fava {seed}")
    cents = rng.sample([cent for cent in range(310, 39_000) if cent % 10], NUM_PAYMENTS)
    made: dict[tuple[date, str], Payment] = {}
    while len(made) < NUM_PAYMENTS:
        payment = _payment(rng, Decimal(cents[len(made)]) / 100)
        made.setdefault((payment.day, payment.payee), payment)
    notes = [(_day(rng), rng.choice(list(_SPENT)), text) for text in _NOTES]
    return Content(sorted(made.values(), key=lambda payment: payment.day), sorted(notes))


def _payment(rng: random.Random, amount: Decimal) -> Payment:
    flag = "!" if rng.random() < 0.1 else "*"
    if rng.random() < 0.3:
        source = rng.choice(list(_EARNED))
        payees, narrations = _EARNED[source]
        target = rng.choice(SOURCES[:2])
    else:
        target = rng.choice(list(_SPENT))
        payees, narrations = _SPENT[target]
        source = rng.choices(SOURCES, (5, 2, 2))[0]
    return Payment(_day(rng), flag, rng.choice(payees), rng.choice(narrations), source, target, amount)


def _day(rng: random.Random) -> date:
    return BEGIN + timedelta(days=rng.randrange(DAYS))


def written(content: Content) -> str:
    """The ledger."""
    lines = [f'option "title" "{TITLE}"', f'option "operating_currency" "{CURRENCY}"', ""]
    lines += [f"2025-01-01 open {account} {CURRENCY}" for account in accounts()]
    opening = [f"  {account}  {amount} {CURRENCY}" for account, amount in OPENING.items()]
    lines += ["", '2025-01-01 * "Opening balances"', *opening, "  Equity:Opening", ""]
    for payment in content.payments:
        lines += [
            f'{payment.day} {payment.flag} "{payment.payee}" "{payment.narration}"',
            f"  {payment.source}  -{payment.amount} {CURRENCY}",
            f"  {payment.target}  {payment.amount} {CURRENCY}",
            "",
        ]
    lines += [f'{day} note {account} "{text}"' for day, account, text in content.notes]
    return "\n".join(lines) + "\n"

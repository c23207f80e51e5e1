"""What our hledger holds: a year in the books of a made-up theater, drawn from a seed."""

import dataclasses
import random
from datetime import date, timedelta
from decimal import Decimal

CURRENCY = "EUR"
BEGIN = date(2025, 1, 3)
DAYS = 355
NUM_PAYMENTS = 130
SOURCES = ("assets:bank", "assets:cash", "liabilities:card")
OPENING = {"assets:bank": Decimal("14000.00"), "assets:cash": Decimal("3200.00")}  # so that both stay above 0

_SPENT = {
    "expenses:costumes": (
        ("Kestrel Fabrics", "Button Row", "Second Curtain"),
        ("Velvet", "Zippers", "Six wigs", "Felt hats", "Shoe rental"),
    ),
    "expenses:stage": (
        ("Larch Timber", "Bolt and Hinge", "Paint Cellar"),
        ("Plywood", "Black paint", "Hinges", "Rope", "Canvas"),
    ),
    "expenses:lighting": (("Lumen Hire", "Bright Side"), ("Lamps", "Color filters", "Cable drum", "Dimmer repair")),
    "expenses:rights": (("Prologue Agency", "Third Act Licensing"), ("Play rights", "Song rights", "Score rental")),
    "expenses:hall": (("Municipal Halls", "Weir Mill Trust"), ("Hall rent", "Rehearsal room", "Cleaning")),
    "expenses:catering": (("Pier Bakery", "Olive Branch"), ("Premiere buffet", "Rolls", "Juice and water")),
    "expenses:printing": (("Quill Press", "Poster Shed"), ("Programs", "Tickets on paper", "Banners")),
}
_EARNED = {
    "income:tickets": (("Evening Box Office", "School Matinee", "Online Sales"), ("Comedy", "Winter play", "Cabaret")),
    "income:gifts": (("Anders Vale", "Bridget Stone", "Corner Bank Fund"), ("Gift", "Sponsored seat", "Yearly gift")),
    "income:courses": (("Youth Course", "Voice Course"), ("Spring fees", "Autumn fees", "Late fees")),
}


@dataclasses.dataclass(frozen=True)
class Payment:
    """Money that went from `source` to `target`; `code` is the number of its invoice."""

    day: date
    code: str
    payee: str
    note: str
    source: str
    target: str
    amount: Decimal


def accounts() -> list[str]:
    """All of them."""
    return [*SOURCES, "equity:opening", *_EARNED, *_SPENT]


def make(seed: int = 0) -> list[Payment]:
    """By day; the same for the same seed. No two are of the same amount or number, or of the same day and payee."""
    rng = random.Random(f"hledger {seed}")
    cents = rng.sample([cent for cent in range(410, 42_000) if cent % 10], NUM_PAYMENTS)
    codes = rng.sample(range(1000, 10_000), NUM_PAYMENTS)
    made: dict[tuple[date, str], Payment] = {}
    while len(made) < NUM_PAYMENTS:
        payment = _payment(rng, f"{codes[len(made)]}", Decimal(cents[len(made)]) / 100)
        made.setdefault((payment.day, payment.payee), payment)
    return sorted(made.values(), key=lambda payment: payment.day)


def _payment(rng: random.Random, code: str, amount: Decimal) -> Payment:
    if rng.random() < 0.3:
        source = rng.choice(list(_EARNED))
        payees, notes = _EARNED[source]
        target = rng.choice(SOURCES[:2])
    else:
        target = rng.choice(list(_SPENT))
        payees, notes = _SPENT[target]
        source = rng.choices(SOURCES, (5, 2, 2))[0]
    day = BEGIN + timedelta(days=rng.randrange(DAYS))
    return Payment(day, code, rng.choice(payees), rng.choice(notes), source, target, amount)


def written(payments: list[Payment]) -> str:
    """The journal."""
    lines = [f"commodity 1000.00 {CURRENCY}", "", *(f"account {account}" for account in accounts())]
    opening = [f"    {account}  {amount} {CURRENCY}" for account, amount in OPENING.items()]
    lines += ["", "2025-01-01 * Opening balances", *opening, "    equity:opening", ""]
    for payment in payments:
        lines += [
            f"{payment.day} * ({payment.code}) {payment.payee} | {payment.note}",
            f"    {payment.target}  {payment.amount} {CURRENCY}",
            f"    {payment.source}  -{payment.amount} {CURRENCY}",
            "",
        ]
    return "\n".join(lines)

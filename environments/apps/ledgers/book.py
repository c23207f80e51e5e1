"""An account book as who asks about it sees it: payments, balances, and what may be asked of any."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from environments.apps.application import Record
from environments.apps.ledgers.months import called
from environments.apps.templates import Instance, State, says

_POSTING = re.compile(r"([A-Za-z][\w:-]+) (-?[\d.]+) EUR")


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


def balances(state: State, month: str = "") -> dict[str, Decimal]:
    """What is in each account, or came there in a month such as 2025-03."""
    sums: dict[str, Decimal] = {}
    for one in state.of("transaction"):
        if one["date"].startswith(month):
            for account, number in postings(one).items():
                sums[account] = sums.get(account, Decimal(0)) + number
    return sums


def some_day(rng: random.Random) -> str:
    """One of the days around the application's today."""
    return f"2026-01-{rng.randint(5, 14):02}"


@dataclass(frozen=True)
class Book:
    """`is_payment` of a transaction: it has one source, one target and somebody, `payee`, whom it is about."""

    is_payment: Callable[[Record], bool]
    payee: Callable[[Record], str]

    def payments(self, state: State) -> list[Record]:
        return [one for one in state.of("transaction") if self.is_payment(one)]

    def spending(self, state: State) -> list[Record]:
        """Payments for what the book calls expenses."""
        return [one for one in self.payments(state) if _is_of(("expenses",), target(one))]

    def expenses(self, state: State) -> list[str]:
        """The accounts that were spent on."""
        return sorted({target(one) for one in self.spending(state)})

    def payees(self, state: State) -> tuple[str, ...]:
        return tuple(sorted({self.payee(one) for one in self.payments(state)}))

    def months(self, state: State) -> list[str]:
        """Those with payments, such as 2025-03."""
        return sorted({one["date"][:7] for one in self.payments(state)})

    def about(self, payment: Record) -> dict[str, str]:
        """What tells a payment from all others."""
        return {"payee": self.payee(payment), "date": payment["date"]}

    def the_one(self, state: State, rng: random.Random) -> tuple[Record, dict[str, str]]:
        """A payment that no other one shares its month and both accounts with."""
        known = self.spending(state)
        keys = [(one["date"][:7], source(one), target(one)) for one in known]
        payment, key = rng.choice([pair for pair in zip(known, keys, strict=True) if keys.count(pair[1]) == 1])
        return payment, {"month": called(key[0]), "source": key[1], "target": key[2]}

    # Questions: each is a template's `draw`.

    def paid_amount(self, state: State, rng: random.Random) -> Instance:
        payment = rng.choice(self.spending(state))
        others = tuple(amount(one) for one in self.payments(state) if one is not payment)
        return Instance(self.about(payment), says(amount(payment), others))

    def month_spending(self, state: State, rng: random.Random) -> Instance:
        spent = {month: balances(state, month) for month in self.months(state)}
        pairs = [(account, month) for month in spent for account in self.expenses(state) if account in spent[month]]
        account, month = rng.choice(pairs)
        others = tuple(f"{sums[account]}" for sums in spent.values() if account in sums)
        return Instance({"account": account, "month": called(month)}, says(f"{spent[month][account]}", others))

    def account_balance(self, state: State, rng: random.Random) -> Instance:
        sums = {account: f"{number}" for account, number in balances(state).items()}
        account = rng.choice([one for one in sums if _is_of(("assets", "expenses"), one)])
        return Instance({"account": account}, says(sums[account], tuple(sums.values())))

    def find_the_one(self, state: State, rng: random.Random) -> Instance:
        payment, slots = self.the_one(state, rng)
        return Instance(slots, says(self.payee(payment), self.payees(state)))


def _is_of(kinds: tuple[str, ...], account: str) -> bool:
    return account.partition(":")[0].lower() in kinds

"""How somebody who knows hledger-web does what is asked there. ENTER in a field of the form sends it, unless the
description is still missing: so that comes last."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from environments.apps.expert.rules import (
    Move,
    Rule,
    Situation,
    answer,
    click,
    clicked,
    done,
    first,
    give_up,
    in_turn,
    note,
    noted,
    say,
    scroll,
    scroll_up,
    when,
    write,
)
from environments.apps.ledgers.months import in_numbers
from environments.sites.expert.reading import Element

SEARCH = "Enter hledger search patterns.*"
_ROW = re.compile(r"\d{4}-\d\d-\d\d (?:\* )?(?:\(\d+\) )?(.+?) ((?:[a-z:]+ -?\d+\.\d\d EUR *)+)")
_POSTING = re.compile(r"([a-z:]+) (-?\d+\.\d\d) EUR")
_BALANCE = re.compile(r"(-?\d+(?:\.\d\d)?) EUR *|0 *")


@dataclass(frozen=True)
class Row:
    """A transaction of the journal."""

    text: str
    description: str
    postings: tuple[tuple[str, str], ...]

    @property
    def source(self) -> str:
        return next(account for account, amount in self.postings if amount.startswith("-"))

    @property
    def target(self) -> str:
        return next(account for account, amount in self.postings if not amount.startswith("-"))

    @property
    def amount(self) -> str:
        return next(amount for _, amount in self.postings if not amount.startswith("-"))

    @property
    def payee(self) -> str:
        return self.description.partition(" | ")[0]


def read_row(text: str) -> Row | None:
    match = _ROW.fullmatch(text.strip())
    return Row(text.strip(), match[1], tuple(_POSTING.findall(match[2]))) if match else None


def rows(now: Situation) -> list[Row]:
    """What of the journal is in view."""
    named = (read_row(element.name) for element in now.page.elements if element.role == "row")
    return [row for row in named if row is not None]


def search(query: str, *rules: Rule) -> Rule:
    """`rules` on what of the journal fits."""
    searched = when(lambda now: now.said(f"I should type '{query}'"), *rules, scroll)
    return first(searched, write(SEARCH, query), scroll_up)


def row(fits: Callable[[Row], bool], rule: Callable[[Row], Rule]) -> Rule:
    """What to do with the transaction that fits."""

    def apply(now: Situation) -> Move | None:
        fitting = [one for one in rows(now) if fits(one)]
        return rule(fitting[0])(now) if fitting else None

    return apply


def of(payee: str) -> Callable[[Row], bool]:
    return lambda one: one.payee == payee


def between(source: str, target: str) -> Callable[[Row], bool]:
    return lambda one: (one.source, one.target) == (source, target)


def account_link(now: Situation, account: str) -> Element | None:
    """That of the list beside the journal, which shows the last part of a name."""
    links = [element for element in now.page.elements if element.role == "link"]
    return next((link for link in links if f":{account}".endswith(f":{link.name}")), None)


def balance(now: Situation, account: str) -> str:
    """The number beside an account's name, or ""."""
    link, elements = account_link(now, account), iter(now.page.elements)
    if link is None or link not in elements:
        return ""
    match = _BALANCE.fullmatch(next(elements).name)
    return match[1] or "0" if match else ""


def add(date: str, description: str, *postings: tuple[str, str]) -> Rule:
    """Add a transaction of (account, amount)s; the last amount may be "", which hledger then computes."""
    fields = [write("Date", date)]
    for number, (account, amount) in enumerate(postings, start=1):
        fields += [write(f"Account {number}", account)]
        fields += [write(f"Amount {number}", f"{amount} EUR")] if amount else []
    form = when(
        lambda now: now.named(("dialog",), "Add a transaction"), in_turn(*fields, write("Description", description))
    )
    return first(done(f"I should type '{description}' into"), form, click("Add a transaction"), scroll_up)


def read_then(read: Callable[[Situation], str], rule: Callable[[str], Rule]) -> Rule:
    """What a page says is noted while the form for a new transaction is opened, which hides it."""
    return first(noted(rule), note(read, first(click("Add a transaction"), scroll_up)))


def with_row(query: str, fits: Callable[[Row], bool], rule: Callable[[Row], Rule]) -> Rule:
    """Search, and add something about the transaction that fits."""

    def of_text(text: str) -> Rule:
        known = read_row(text)
        return rule(known) if known else lambda now: None

    return search(query, read_then(lambda now: next((one.text for one in rows(now) if fits(one)), ""), of_text))


def refund(day: str) -> Callable[[Row], Rule]:
    return lambda one: add(day, "Refund", (one.source, one.amount), (one.target, ""))


def _empty_cash(day: str, kept: str) -> Rule:
    def move(held: str) -> Rule:
        return add(
            day, "Cash to the bank", ("assets:bank", f"{Decimal(held) - Decimal(kept):.2f}"), ("assets:cash", "")
        )

    return first(read_then(lambda now: balance(now, "assets:cash"), move), scroll_up)


def _open_account(account: str) -> Rule:
    def apply(now: Situation) -> Move | None:
        link = account_link(now, account)
        return clicked(link) if link else None

    return first(when(lambda now: now.past, answer("done")), apply, scroll)


def _no_such_account(account: str, month: str) -> Rule:
    listed = when(lambda now: account_link(now, "assets:bank"), give_up(f"There is no account {account}."))
    return first(when(lambda now: not account_link(now, account), listed), scroll_up)


def _no_such_payment(payee: str, date: str) -> Rule:
    at_end = when(lambda now: "cannot be scrolled further down" in now.told, give_up("There is no such payment."))
    return search(f"date:{date}", at_end)


def _month_search(month: str, target: str = "") -> str:
    return f"date:{in_numbers(month)} acct:{target}" if target else f"date:{in_numbers(month)}"


SOLVERS: dict[str, Callable[..., Rule]] = {
    "paid-amount": lambda payee, date: search(f"date:{date}", row(of(payee), lambda one: answer(one.amount))),
    "month-spending": lambda account, month: search(_month_search(month), say(lambda now: balance(now, account))),
    "invoice-payee": lambda code: search(f"code:{code}", row(lambda one: True, lambda one: answer(one.payee))),
    "account-balance": lambda account: first(say(lambda now: balance(now, account)), scroll_up),
    "open-account": _open_account,
    "open-month": lambda month: search(_month_search(month), answer("done")),
    "book-payment": lambda date, description, amount, source, target: add(
        date, description, (target, amount), (source, "")
    ),
    "split-payment": lambda date, description, first, one, second, other, source: add(
        date, description, (first, one), (second, other), (source, "")
    ),
    "correct-account": lambda payee, date, old, new, day: with_row(
        f"date:{date}", of(payee), lambda one: add(day, "Correction", (new, one.amount), (old, ""))
    ),
    "reverse-payment": lambda payee, date, day: with_row(f"date:{date}", of(payee), refund(day)),
    "find-the-one": lambda month, source, target: search(
        _month_search(month, target), row(between(source, target), lambda one: answer(one.payee))
    ),
    "reverse-the-one": lambda month, source, target, day: with_row(
        _month_search(month, target), between(source, target), refund(day)
    ),
    "empty-cash": _empty_cash,
    "pay-again": lambda payee, date, day: with_row(
        f"date:{date}", of(payee), lambda one: add(day, one.description, (one.target, one.amount), (one.source, ""))
    ),
    "no-such-account": _no_such_account,
    "no-such-payment": _no_such_payment,
}

"""How somebody who knows Fava does what is asked there. ENTER in a field sends a form, unless it picks a suggestion: of
an account all but its last letter is typed, of an amount the number."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

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
    on,
    say,
    scroll,
    scroll_up,
    typed,
    when,
    write,
)
from environments.apps.ledgers.months import in_numbers
from environments.sites.expert.reading import Element

ADD = "I should click '+'."
DELETED = "I should click 'Delete'."
_AMOUNT = re.compile(r"(-?)(\d+\.\d\d) EUR")
_REPORTS = {"income statement": "Income Statement", "balance sheet": "Balance Sheet", "trial balance": "Trial Balance"}


@dataclass(frozen=True)
class Row:
    """An entry of the journal: the link that its date is, and what stands after it."""

    link: Element
    said: tuple[str, ...]

    def holds(self, *words: str) -> bool:
        return all(any(word in name for name in self.said) for word in words)

    @property
    def postings(self) -> dict[str, str]:
        """Accounts by their amounts, such as -12.50."""
        pairs = pairwise(self.said)
        return {match[1] + match[2]: account for account, text in pairs if (match := _AMOUNT.fullmatch(text.strip()))}


def rows(now: Situation) -> list[Row]:
    """What of the journal is in view."""
    found: list[Row] = []
    for element in now.page.elements:
        if element.role == "link" and re.fullmatch(r"\d{4}-\d\d-\d\d", element.name):
            found.append(Row(element, ()))
        elif found:
            found[-1] = Row(found[-1].link, (*found[-1].said, element.name))
    return found


def row(words: tuple[str, ...], rule: Callable[[Row], Rule]) -> Rule:
    """What to do with the entry that holds these words."""

    def apply(now: Situation) -> Move | None:
        fitting = [one for one in rows(now) if one.holds(*words)]
        return rule(fitting[0])(now) if fitting else None

    return apply


def open_row(found: Row) -> Rule:
    return lambda now: clicked(found.link)


def page_of(name: str, *rules: Rule) -> Rule:
    """`rules` on this page, or on the way there."""
    return first(on(name, *rules, scroll), click(name), scroll_up)


def journal(time: str, *rules: Rule, account: str = "") -> Rule:
    """`rules` on the journal of this time, with all postings."""
    filters = [write("Time", time), *([write("Account", account)] if account else [])]
    return page_of("Journal", in_turn(*filters, click("Postings")), *rules)


def tell_positive(now: Situation, found: Row) -> Move | None:
    amount = next((one for one in found.postings if not one.startswith("-")), "")
    return Move(f"The page says '{amount}'.", f"ANSWER; {amount}") if amount else None


def _paid_amount(payee: str, date: str) -> Rule:
    return journal(date, row((payee,), lambda found: lambda now: tell_positive(now, found)))


def _paid_from(payee: str, date: str) -> Rule:
    def tell(found: Row) -> Rule:
        source = next((account for amount, account in found.postings.items() if amount.startswith("-")), "")
        return answer(source) if source else scroll

    return journal(date, row((payee,), tell))


def balance(now: Situation, account: str) -> str:
    """The number beside the last part of an account's name, or ""; charts have such names, too."""
    leaf = account.rpartition(":")[2]
    for link, beside in pairwise(now.page.elements):
        if link.role == "link" and link.name == leaf and re.fullmatch(r"-?\d+\.\d\d", beside.name.strip()):
            return beside.name.strip()
    return ""


def _confirm_balance(account: str, date: str) -> Rule:
    enter = noted(lambda value: add_balance(account, date, value))
    return first(enter, page_of("Trial Balance", note(lambda now: balance(now, account), scroll_up)))


def field(pattern: str, text: str, place: int = 0, roles: tuple[str, ...] = ("combobox", "textbox")) -> Rule:
    """Type into the field of this name, or into a later one of the same name."""

    def apply(now: Situation) -> Move | None:
        found = [element for element in now.page.elements if element.role in roles and called(element, pattern)]
        return typed(found[place], text) if len(found) > place else None

    return apply


def called(element: Element, pattern: str) -> bool:
    """By its name or its placeholder: the label of the narration holds a button, which gives it its name."""
    return bool(re.fullmatch(pattern, element.name) or re.search(rf"placeholder: {pattern}( |$)", element.properties))


def day(date: str) -> Rule:
    return field(".*", date, roles=("Date",))


def account_field(account: str, place: int = 0) -> Rule:
    return field("Account", account[:-1], place)


def add(*rules: Rule) -> Rule:
    """Open the form for a new entry, and do this there."""
    return first(when(lambda now: now.said(ADD), *rules), click(r"\+"), scroll_up)


def form(kind: str, field_of_it: str, *steps: Rule) -> Rule:
    """Fill in the form of this kind of entry, which has a field that others lack."""

    def lacks(now: Situation) -> bool:
        return not any(called(element, field_of_it) for element in now.page.elements if element.role != "option")

    return first(when(lacks, click(kind)), in_turn(*steps))


def add_note(account: str, date: str, text: str) -> Rule:
    steps = day(date), account_field(account), field("Comment", text), click("Save")
    return first(done("I should click 'Save'."), add(form("Note", "Comment", *steps)))


def add_balance(account: str, date: str, amount: str) -> Rule:
    steps = day(date), field("Number", amount), account_field(account), field("Currency", "EUR")
    return first(done("I should type 'EUR'"), add(form("Balance", "Number", *steps)))


def _book_payment(date: str, narration: str, amount: str, source: str, target: str) -> Rule:
    """The form of a balance keeps the date until its account is filled in; ENTER there would send that of a payment."""
    steps = (
        account_field(source),
        field("Amount", f"-{amount}"),
        account_field(target, 1),
        field("Narration", narration),
    )
    dated = when(lambda now: not now.said(f"I should type '{date}'"), form("Balance", "Number", day(date)))
    return first(done(f"I should type '{narration}'"), add(dated, form("Transaction", "Amount", *steps)))


def delete(time: str, *words: str, account: str = "") -> Rule:
    """The entry of this time that holds these words."""
    return first(done(DELETED), when(opened, click("Delete")), journal(time, row(words, open_row), account=account))


def opened(now: Situation) -> bool:
    """Whether an entry is open, with its lines."""
    return bool(now.named(("button",), "Duplicate"))


def _correct_amount(payee: str, date: str, old: str, new: str) -> Rule:
    """A copy with another amount, in which the date comes last; then the old one is deleted."""
    copied = f"I should type '{date}' into ''"
    fill = in_turn(
        click("Duplicate"),
        field("Amount", f"-{new}"),
        field("Amount", new, 1),
        day(date),
    )
    first_copy = when(lambda now: opened(now) and not now.said(copied), fill)
    return first(
        done(DELETED, copied),
        first_copy,
        when(opened, click("Delete")),
        journal(date, row((payee, f"-{old} EUR"), open_row)),
    )


def _no_such_payment(payee: str, date: str) -> Rule:
    end = when(lambda now: "cannot be scrolled further down" in now.told, give_up("There is no such payment."))
    return journal(date, when(lambda now: now.said("I should click 'Postings'"), end))


def _note_on_payment(payee: str, date: str, day: str, text: str) -> Rule:
    def target(found: Row) -> Rule:
        name = next((account for amount, account in found.postings.items() if not amount.startswith("-")), "")
        return note(lambda now: name, first(click(r"\+"), scroll_up)) if name else scroll

    return first(noted(lambda account: add_note(account, day, text)), journal(date, row((payee,), target)))


def _the_one(month: str, source: str, target: str, rule: Callable[[Row], Rule]) -> Rule:
    return journal(in_numbers(month), row((source, target), rule), account=target)


def _no_such_account(account: str, date: str, text: str) -> Rule:
    end = when(lambda now: "cannot be scrolled further down" in now.told, give_up("There is no such account."))
    return page_of("Trial Balance", end)


def _open_report(report: str, month: str) -> Rule:
    time = in_numbers(month)
    return first(done(f"I should type '{time}'"), page_of(_REPORTS[report], write("Time", time)))


SOLVERS: dict[str, Callable[..., Rule]] = {
    "paid-amount": _paid_amount,
    "paid-from": _paid_from,
    "month-spending": lambda account, month: page_of(
        "Income Statement", in_turn(write("Time", in_numbers(month))), say(lambda now: balance(now, account))
    ),
    "account-balance": lambda account: page_of("Trial Balance", say(lambda now: balance(now, account))),
    "open-account": lambda account: first(
        done(f"I should type '{account}'"), write("Go to account", account), scroll_up
    ),
    "open-report": _open_report,
    "add-note": add_note,
    "add-balance": add_balance,
    "book-payment": _book_payment,
    "delete-payment": lambda payee, date: delete(date, payee),
    "correct-amount": _correct_amount,
    "find-the-one": lambda month, source, target: _the_one(month, source, target, lambda found: answer(found.said[1])),
    "delete-the-one": lambda month, source, target: delete(in_numbers(month), source, target, account=target),
    "confirm-balance": _confirm_balance,
    "note-on-payment": _note_on_payment,
    "no-such-account": _no_such_account,
    "no-such-payment": _no_such_payment,
}

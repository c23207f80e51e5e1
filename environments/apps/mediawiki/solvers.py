"""How somebody who knows MediaWiki does what is asked there: search for the title, then use the tabs of the page."""

import re
from collections.abc import Callable, Iterator

from environments.apps.expert.rules import (
    Move,
    Rule,
    Situation,
    answer,
    click,
    done,
    first,
    give_up,
    in_turn,
    note,
    noted,
    on,
    scroll,
    scroll_up,
    tell,
    when,
    write,
)
from environments.apps.mediawiki.content import LIST

TEXT, SUMMARY, SUBJECT = "Wikitext source editor", "Summary:", "Subject:"
SAVED = r"I should click 'Save (?:changes|page)'\."
_DATE = r"\d\d:\d\d, \d+ \w+ \d{4}"


def page(title: str, *rules: Rule) -> Rule:
    """`rules` on the page of this title, or what is called so in the title of a tab."""
    return on(rf"{title} - Glasshouse$", *rules)


def find(title: str, *rules: Rule) -> Rule:
    """`rules` on this page, or on the way there."""
    return first(
        page(re.escape(title), *rules, scroll),
        _search(title),
    )


def _search(title: str) -> Rule:
    return first(write("Search Glasshouse", title), scroll_up)


def tab(name: str) -> Rule:
    """One of the links above a page."""
    return first(click(name), scroll_up)


def history(title: str, *rules: Rule) -> Rule:
    """`rules` on the list of a page's versions, or on the way there."""
    return first(page(rf"{re.escape(title)}: Revision history", *rules, scroll), find(title, tab("View history")))


def versions(now: Situation) -> Iterator[tuple[str, str]]:
    """(user, summary) of each version in view, newest first."""
    names = [name for element in now.page.elements if (name := element.name.strip("\u200e ()"))]
    starts = [place for place, name in enumerate(names) if re.fullmatch(_DATE, name)]
    for start, end in zip(starts, [*starts[1:], len(names)], strict=True):
        yield names[start + 1], "\n".join(names[start + 2 : end])


def tell_newest(now: Situation) -> Move | None:
    user = next((user for user, _ in versions(now)), "")
    return Move(f"The newest version is by '{user}'.", f"ANSWER; {user}") if user else None


def tell_by_summary(summary: str) -> Rule:
    def apply(now: Situation) -> Move | None:
        user = next((user for user, said in versions(now) if summary in said.split("\n")), "")
        return Move(f"The version of this summary is by '{user}'.", f"ANSWER; {user}") if user else None

    return apply


def saved(now: Situation) -> bool:
    return bool(now.recalled(f"({SAVED})"))


def save(*steps: Rule) -> Rule:
    """Do this in the form, then send it."""
    button = click("Save (?:changes|page)")
    form = on("(?:Editing|Creating|Undo|Edit) ?", in_turn(*steps, button))
    return first(when(saved, answer("done")), form)


def rewrite(title: str, text: str) -> Rule:
    """Give a page this whole text."""
    return first(save(write(TEXT, text)), find(title, tab("Edit")))


def _add_topic(title: str, subject: str, text: str) -> Rule:
    """ENTER in the field of the subject saves."""
    written = when(lambda now: now.said(f"I should type '{subject}'"), answer("done"))
    form = on("(?:Editing|Creating) Talk:", in_turn(write(TEXT, text), write(SUBJECT, subject)))
    return first(written, form, page(f"Talk:{re.escape(title)}", tab("Add topic")), find(title, tab("Discussion")))


def _watch(title: str) -> Rule:
    return first(done("I should click 'Watch'."), find(title, tab("Watch")))


def _undo(title: str) -> Rule:
    return first(save(), history(title, click("undo")))


def listed(now: Situation, house: str, keeper: str) -> str:
    """The plant in the rows in view that stands there and is kept so, or ""."""
    cells = [element.name.strip() for element in now.page.elements if element.role in ("cell", "gridcell")]
    rows = zip(cells[::4], cells[1::4], cells[2::4], strict=False)
    return next((plant for plant, *other in rows if other == [house, keeper]), "")


def _find_the_one(house: str, keeper: str) -> Rule:
    def apply(now: Situation) -> Move | None:
        plant = listed(now, house, keeper)
        return Move(f"The list says '{plant}'.", f"ANSWER; {plant}") if plant else None

    return find(LIST, apply)


def _watch_the_one(house: str, keeper: str) -> Rule:
    def plant(now: Situation) -> str:
        return listed(now, house, keeper)

    return first(noted(_watch), find(LIST, note(plant, lambda now: _search(plant(now))(now))))


def read_first(title: str, pattern: str, then: Callable[[str], Rule], next_title: str = "") -> Rule:
    """What the first text that fits says on this page, then what is done with it.

    Args:
        next_title: where to go then; by default where the text says.
    """

    def text(now: Situation) -> str:
        texts = [element.name for element in now.page.elements if element.role in ("StaticText", "link")]
        return next((match[1] for text in texts if (match := re.fullmatch(pattern, text.strip()))), "")

    return first(noted(then), find(title, note(text, lambda now: _search(next_title or text(now))(now))))


def _copy_notice(house: str, other: str) -> Rule:
    target = f"{house} notice"
    return read_first(f"{other} notice", r"(\w.+ .+\.)", lambda text: rewrite(target, text), target)


def _keeper_notice(plant: str, house: str) -> Rule:
    target = f"{house} notice"
    return read_first(plant, r"Keeper: (\w+)", lambda keeper: rewrite(target, keeper), target)


def _house_built(plant: str) -> Rule:
    built = tell(r"was built in (\d{4})")
    return read_first(plant, r"(\w+ House)", lambda house: find(house, built))


def _no_such_topic(title: str, subject: str) -> Rule:
    talk = page(f"Talk:{re.escape(title)}", give_up(f"Nothing is headed {subject} there."))
    return first(talk, find(title, tab("Discussion")))


def _protected(title: str) -> Rule:
    return find(title, when(lambda now: now.named(("link",), "View source"), give_up("The page is protected.")))


SOLVERS: dict[str, Callable[..., Rule]] = {
    "plant-height": lambda plant: find(plant, tell(r"Height: (\d+) cm")),
    "plant-year": lambda plant: find(plant, tell(r"Planted: (\d+)")),
    "last-editor": lambda title: history(title, tell_newest),
    "editor-by-summary": lambda title, summary: history(title, tell_by_summary(summary)),
    "open-plant": lambda plant: find(plant, answer("done")),
    "open-history": lambda title: history(title, answer("done")),
    "add-topic": _add_topic,
    "set-notice": lambda house, text: rewrite(f"{house} notice", text),
    "watch-page": _watch,
    "unwatch-page": lambda title: first(done("I should click 'Unwatch'."), find(title, tab("Unwatch"))),
    "undo-edit": _undo,
    "find-the-one": _find_the_one,
    "watch-the-one": _watch_the_one,
    "copy-notice": _copy_notice,
    "keeper-notice": _keeper_notice,
    "house-built": _house_built,
    "no-such-summary": lambda title, summary: history(title, give_up(f"No version has the summary {summary}.")),
    "no-such-topic": _no_such_topic,
    "protected-page": lambda title, text: _protected(title),
}

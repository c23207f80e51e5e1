"""How somebody who knows TiddlyWiki does what is asked there: search for a title, then read or edit its page."""

from collections.abc import Callable

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
    part,
    scroll,
    scroll_up,
    tell,
    tell_after,
    typed,
    when,
    write,
)
from environments.apps.tiddlywiki.content import CATALOG, WORK_LIST
from environments.sites.expert.reading import Element

EDIT, SAVE, NEW = "Edit this tiddler", "Confirm changes to this tiddler", "new tiddler"
SAVED = f"I should click '{SAVE}'"
TEXT, TAG = "Type the text for this tiddler", "tag name"


def search(text: str, *rules: Rule) -> Rule:
    """`rules` once this was searched for."""

    def apply(now: Situation) -> Move | None:
        found = [element for element in now.page.elements if element.role == "searchbox"]
        return typed(found[0], text) if found else None

    return first(when(lambda now: now.said(f"I should type '{text}'"), *rules), apply, scroll_up)


def page(title: str, *rules: Rule) -> Rule:
    """`rules` on the page of this title, which is opened first."""
    shown = when(lambda now: now.page.find(("heading",), title), *rules)
    return first(shown, search(title, click(title)), scroll_up)


def listed(title: str, *rules: Rule) -> Rule:
    """The same for a page that the first one leads to."""
    return first(when(lambda now: now.page.find(("heading",), title), *rules), click(title), scroll_up)


def room_of(clock: str, rule: Callable[[str], Rule]) -> Rule:
    """What to do with the room that a clock stands in."""
    return _led(clock, " It stands in the ", rule)


def maker_of(clock: str, rule: Callable[[str], Rule]) -> Rule:
    """What to do with whoever made a clock."""
    return _led(clock, "Made by ", rule)


def _led(clock: str, words: str, rule: Callable[[str], Rule]) -> Rule:
    """Note which page the link after these words leads to, and go there."""

    def follow(now: Situation) -> Move | None:
        link = _link_after(now, words)
        return link and Move(f"I note '{link.name}'.", f"Click [{link.label}]")

    return first(noted(rule), page(clock, follow))


def _link_after(now: Situation, words: str) -> Element | None:
    elements = iter(now.page.elements)
    if not any(element.name.endswith(words) for element in elements):
        return None
    return next((element for element in elements if element.role == "link"), None)


def edit(title: str, *steps: Rule) -> Rule:
    """Open a page's editor, take these steps there and save."""

    def begin(now: Situation) -> Move | None:
        above = now.page.elements[: now.page.elements.index(now.page.find(("heading",), title))]
        buttons = [element for element in above if element.name == EDIT]
        return clicked(buttons[-1]) if buttons else None

    return first(done(SAVED), editing(*steps), page(title, begin, scroll_up))


def editing(*steps: Rule) -> Rule:
    """These steps in the editor that is open, and its button to save."""
    return when(lambda now: now.said(f"'{EDIT}'") or now.said(f"'{NEW}'"), in_turn(*steps, click(SAVE)))


def create(title: str, text: str, *steps: Rule) -> Rule:
    """Write a new page. Its tag comes last, since a list of tags stays open over what is below."""
    fields = (write_title(title), write(TEXT, text), *steps)
    return first(done(SAVED), editing(*fields), click(NEW), scroll_up)


def write_title(title: str) -> Rule:
    """Of the page in the editor: its first field, which has no name."""

    def apply(now: Situation) -> Move | None:
        found = now.named(("textbox",), "")
        return typed(found[0], title) if found else None

    return apply


def tick(job: str) -> Rule:
    def apply(now: Situation) -> Move | None:
        boxes = now.named(("checkbox",), job)
        return clicked(boxes[0]) if boxes else None

    return apply


def tick_all(*jobs: str) -> Rule:
    ticked = done(*(f"I should click '{job}'" for job in jobs))
    return first(ticked, page(WORK_LIST, in_turn(*map(tick, jobs))))


def in_catalog(room: str, maker: str, rule: Callable[[str], Rule]) -> Rule:
    """What to do with the first clock of the catalog that stands there and is by that maker."""

    def look(now: Situation) -> Move | None:
        cells = [element.name for element in now.page.elements if element.role == "cell"]
        rows = zip(cells, cells[1:], cells[2:], strict=False)
        clock = next((clock for clock, *rest in rows if rest == [maker, room]), "")
        link = now.page.find(("link",), clock)
        return Move(f"I note '{clock}'.", f"Click [{link.label}]") if clock and link else scroll(now)

    def has_rows(now: Situation) -> bool:
        return any(element.role == "cell" for element in now.page.elements)

    return first(noted(rule), when(has_rows, look), page(CATALOG, look))  # its heading leaves the view as one scrolls


def _keeper_note(room: str, title: str) -> Rule:
    return first(noted(lambda keeper: create(title, keeper)), page(room, note(part(r"Keeper: (\w+)"), click(NEW))))


SOLVERS: dict[str, Callable[..., Rule]] = {
    "clock-maker": lambda clock: page(clock, tell_after("Made by ", "link")),
    "clock-height": lambda clock: page(clock, tell(r"Height: (\d+) cm")),
    "room-keeper": lambda clock: room_of(clock, lambda room: listed(room, tell(r"Keeper: (\w+)"))),
    "open-clock": lambda clock: page(clock, answer("done")),
    "open-maker": lambda clock: maker_of(clock, lambda maker: listed(maker, answer("done"))),
    "write-page": create,
    "write-tagged": lambda title, tag, text: create(title, text, write(TAG, tag)),
    "change-notice": lambda room, text: edit(f"Notice for the {room}", write(TEXT, text)),
    "rename-clock": lambda clock, name: edit(clock, write_title(name)),
    "tag-clock": lambda clock, tag: edit(clock, write(TAG, tag)),
    "delete-log": lambda log: first(
        done("I should click 'Delete this tiddler'"), edit(log, click("Delete this tiddler"))
    ),
    "tick-job": lambda job: tick_all(job),
    "tick-two": lambda job, other: tick_all(job, other),
    "find-the-one": lambda room, maker: in_catalog(room, maker, answer),
    "tag-the-one": lambda room, maker, tag: in_catalog(room, maker, lambda clock: edit(clock, write(TAG, tag))),
    "note-keeper": _keeper_note,
    "no-such-clock": lambda clock: _no_match(clock, "There is no such clock."),
    "no-such-log": lambda day: _no_match(f"Log of March {day}", "There is no such log."),
}


def _no_match(title: str, why: str) -> Rule:
    known = when(lambda now: now.named(("StaticText",), "Title matches:"), give_up(why))
    return search(title, when(lambda now: not now.page.find(("link",), title), known))

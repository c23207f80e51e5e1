"""How somebody who knows the board does what is asked there: search for the topic, then use its page."""

import re
from collections.abc import Callable, Iterator

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
    scroll,
    scroll_up,
    tell,
    when,
    write,
)
from environments.apps.machina.content import AGENT, NAME
from environments.apps.templates import NOT_POSSIBLE
from environments.sites.expert.reading import Element

SURE = "Yes, I'm sure"
CONFIRMED = f"I should click '{SURE}'."
SUBMITTED = "I should click 'Submit'."
SUBJECT, MESSAGE, SIGNATURE = r"Subject\W*", r"Message\W*", r"Signature.*"


def page(title: str, *rules: Rule) -> Rule:
    """`rules` on the page with this title."""
    return on(rf"{NAME} — {title}$", *rules, scroll)


def on_topic(subject: str, *rules: Rule) -> Rule:
    """`rules` on the page of this topic, or on the way there."""
    return first(page(re.escape(subject), *rules), find(subject))


def find(subject: str) -> Rule:
    """Search for it, and choose it among what is found."""
    nothing = when(lambda now: now.named(("LayoutTableCell",), r"No results\."), give_up("There is no such topic."))
    found = page("Search", click(re.escape(subject)), nothing)
    return first(when(lambda now: now.said(f"I should type '{subject}' into 'Search'"), found), search(subject))


def search(text: str) -> Rule:
    return first(write("Search", text), scroll_up)


def forum(name: str, *rules: Rule) -> Rule:
    """`rules` on the page of this forum, or on the way there."""
    return first(page(re.escape(name), *rules), page("Index", click(re.escape(name))), click(r"\W*Forum index"))


def confirmed(*rules: Rule) -> Rule:
    """What asks once more whether it is meant."""
    return first(done(CONFIRMED), click(SURE), *rules, scroll_up)


def moderate(subject: str, what: str) -> Rule:
    """What the moderators' menu on the page of a topic leads to; a picture is all that its button has for a name."""

    def menu(now: Situation) -> Move | None:
        found = [one for one in now.page.elements if one.role == "button" and "hasPopup: menu" in one.properties]
        return clicked(found[0]) if found else None

    return on_topic(subject, click(what), menu)


def _posts(now: Situation) -> Iterator[tuple[str, Element, list[Element]]]:
    """(writer, the link to the writer, the two links before it, by which one edits and deletes) of posts in view.

    The link to a post itself shows below the pointer alone.
    """
    links: list[Element] = []
    written = False
    for element in now.page.elements:
        if element.role == "link" and written:
            yield element.name, element, links[-2:]
        written = element.role == "StaticText" and element.name.strip() == "By:"
        links += [element] if element.role == "link" and element.name != "¶" else []


def _author(now: Situation) -> Move | None:
    """Note who wrote the first post."""
    return next((Move(f"I note '{name}'.", f"ANSWER; {name}") for name, *_ in _posts(now)), None)


def _newest(now: Situation) -> Move | None:
    """Read to the end, and remember whose posts were in view."""
    found = [name for name, *_ in _posts(now)]
    newest = found[-1] if found else now.recalled(r"so far is by '(.+?)'")
    if "cannot be scrolled further down" not in now.told:
        return Move(f"The last post so far is by '{newest}'.", "Scroll [WINDOW]; down")
    return Move(f"The last post is by '{newest}'.", f"ANSWER; {newest}")


def _forum_of(topic: str) -> Rule:
    def read(now: Situation) -> Move | None:
        links = [one.name for one in now.page.elements if one.role == "link"]
        name = links[links.index(topic) - 1] if topic in links else ""
        return Move(f"It is in '{name}'.", f"ANSWER; {name}") if name else None

    return on_topic(topic, read, scroll_up)


def _to_author(now: Situation) -> Move | None:
    return next((clicked(link) for _, link, _ in _posts(now)), None)


def _open_author(topic: str) -> Rule:
    profile = page(r"(?:Profile|\w+(?:'s|’s)? profile).*", answer("done"))
    return first(profile, on_topic(topic, _to_author))


def _begin(forum_name: str, subject: str, text: str, *more: Rule) -> Rule:
    """The message first: ENTER in the field of the subject shows the post as it will be."""
    fields = (write(MESSAGE, text), *more, write(SUBJECT, subject), click("Submit"))
    form = when(lambda now: now.said("New topic'"), in_turn(*fields))
    return first(done(SUBMITTED), form, forum(forum_name, click(r"\W*New topic")))


def _written(subject: str, button: str, text: str) -> Rule:
    """Write this into the form that a button on the page of the topic leads to."""
    form = when(lambda now: now.named(("textbox",), MESSAGE), in_turn(write(MESSAGE, text), click("Submit")))
    begun = when(lambda now: now.said("Step 1 of 2"), in_turn(write(MESSAGE, text), click("Submit")))
    return first(done(SUBMITTED), begun, form, on_topic(subject, click(rf"\W*{button}")))


def _reply(topic: str, text: str) -> Rule:
    return _written(topic, "Post reply", text)


def _vote(topic: str, option: str) -> Rule:
    voted = done(f"I should click '{option}'.", SUBMITTED)
    return first(voted, on_topic(topic, in_turn(click(re.escape(option)), click("Submit"))))


def _of_reply(member: str, use: Callable[[list[Element]], Move | None]) -> Rule:
    """What to do with the links of the reply that this member wrote."""

    def apply(now: Situation) -> Move | None:
        return next((use(links) for name, _, links in _posts(now) if name == member and links), None)

    return apply


def _delete(member: str, topic: str) -> Rule:
    delete = _of_reply(member, lambda links: Move("I should delete it.", f"Click [{links[-1].label}]"))
    return confirmed(on_topic(topic, delete))


def _foreign(member: str, topic: str) -> Rule:
    def look(links: list[Element]) -> Move | None:
        missing = not any(link.name.endswith("Edit") for link in links)
        return Move("It has no button to edit it.", f"ANSWER; {NOT_POSSIBLE}") if missing else None

    return on_topic(topic, _of_reply(member, look))


def _signature(text: str) -> Rule:
    form = page("Edit forum profile", in_turn(write(SIGNATURE, text), click("Submit")))
    return first(done(SUBMITTED), form, click("Edit profile"), click(AGENT), click(r"\W*View my posts"), scroll_up)


def _move(topic: str, forum: str) -> Rule:
    fields = in_turn(write("Select a destination forum", f"-- {forum}"), click(SURE))
    return first(done(CONFIRMED), page("Move topic", fields), moderate(topic, "Move topic"))


def _lock(topic: str) -> Rule:
    return confirmed(moderate(topic, "Lock topic"))


def _approve(subject: str) -> Rule:
    queue = first(click(re.escape(subject)), scroll)
    return confirmed(click(r"\W*Approve"), page("Moderation queue", queue), click(r"\W*Moderation queue"))


def _begun_by(forum_name: str, member: str, use: Callable[[str, Element], Move]) -> Rule:
    """What to do with the first topic of a forum that this member began."""

    def look(now: Situation) -> Move | None:
        links = [one for one in now.page.elements if one.role in ("link", "LayoutTableCell")]
        for cell, title, writer in zip(links, links[1:], links[2:], strict=False):
            if cell.role == "LayoutTableCell" and cell.name.startswith(title.name) and writer.name == member:
                return use(title.name, title)
        return None

    return forum(forum_name, look)


def _find_only(forum: str, member: str) -> Rule:
    return _begun_by(forum, member, lambda title, _: Move(f"It is '{title}'.", f"ANSWER; {title}"))


def _lock_only(forum: str, member: str) -> Rule:
    def topic(title: str, link: Element) -> Move:
        return Move(f"I note '{title}'.", f"Click [{link.label}]")

    return first(noted(_lock), _begun_by(forum, member, topic))


def _name_author(topic: str) -> Rule:
    author = note(lambda now: next((name for name, *_ in _posts(now)), ""), click(r"\W*Post reply"))
    return first(noted(lambda name: _reply(topic, name)), on_topic(topic, author))


def _subscribe(*subjects: str) -> Rule:
    """To one after another."""

    def apply(now: Situation) -> Move | None:
        held = sum(CONFIRMED in reply for reply in now.past)
        if held == len(subjects):
            return answer("done")(now)
        return first(click(SURE), on_topic(subjects[held], click(r"\W*Subscribe")))(now)

    return apply


SOLVERS: dict[str, Callable[..., Rule]] = {
    "topic-author": lambda topic: on_topic(topic, _author),
    "newest-writer": lambda topic: on_topic(topic, _newest),
    "asked-price": lambda topic: on_topic(topic, tell(r"jars of honey: (\d+)")),
    "forum-of-topic": _forum_of,
    "open-topic": lambda topic: on_topic(topic, answer("done")),
    "open-author": _open_author,
    "new-topic": lambda forum, subject, text: _begin(forum, subject, text),
    "new-sticky": lambda forum, subject, text: _begin(forum, subject, text, write("Post topic as.*", "Sticky")),
    "reply": _reply,
    "subscribe": lambda topic: _subscribe(topic),
    "vote": _vote,
    "unsubscribe": lambda topic: confirmed(on_topic(topic, click(r"\W*Unsubscribe"))),
    "edit-reply": lambda topic, text: _written(topic, "Edit", text),
    "delete-reply": _delete,
    "signature": _signature,
    "lock-topic": _lock,
    "move-topic": _move,
    "approve-post": _approve,
    "find-only": _find_only,
    "lock-only": _lock_only,
    "name-author": _name_author,
    "subscribe-two": lambda topic, other: _subscribe(topic, other),
    "no-such-topic": lambda topic: find(topic),
    "foreign-reply": lambda member, topic, text: _foreign(member, topic),
}

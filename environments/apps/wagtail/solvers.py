"""How an editor who knows the website does what is asked there: search for the page, then use its menus."""

import re
from collections.abc import Callable, Iterator
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
    when,
    write,
)
from environments.sites.expert.reading import Element

PUBLISHED = "I should click 'Publish'."
STATUS = "CURRENT PAGE STATUS: "
_STATUSES = rf"'([^';]+)' is ({STATUS}[A-Z +]+);"


def admin(title: str, *rules: Rule) -> Rule:
    """`rules` on the editors' page with this title."""
    return on(rf"{title} - Wagtail", *rules)


def find(title: str, *rules: Rule) -> Rule:
    """Search for a page, and use `rules` on what is found; without any, open its editor."""
    nothing = when(
        lambda now: now.named(("StaticText",), r"Sorry, no pages match\W*"), give_up("There is no such page.")
    )
    here = (*rules, nothing, scroll) if rules else (click(rf"\s*{re.escape(title)}"), nothing, scroll)
    found = when(lambda now: now.said(f"I should type '{title}' into 'Search'"), admin("Search", *here))
    return first(found, write("Search", title), click("For editors"), scroll_up)


def editor(title: str, *rules: Rule) -> Rule:
    """`rules` in the editor of this page, or on the way there."""
    return first(admin(rf"Editing \w+: {re.escape(title)}", *rules, scroll), find(title))


def row(now: Situation, title: str) -> list[Element]:
    """What stands in the row of a page in a list, after its title."""
    elements = list(now.page.elements)
    begins = [place for place, one in enumerate(elements) if one.name == f"More options for '{title}'"]
    found: list[Element] = []
    for element in elements[begins[0] + 1 :] if begins else []:
        if element.role == "checkbox":
            break
        found.append(element)
    return found


def public(title: str, *rules: Rule) -> Rule:
    """`rules` on the public page, or on the way there."""

    def visit(now: Situation) -> Move | None:
        links = [one for one in row(now, title) if one.role == "link" and one.name.startswith(STATUS)]
        return clicked(links[0]) if links else None

    return first(on(rf"{re.escape(title)} \| ", *rules, scroll), find(title, visit))


def explorer(section: str, *rules: Rule) -> Rule:
    """`rules` in the list of the pages below a section, or on the way there."""
    explore = click(rf"Explore child pages of '{re.escape(section)}'")
    return first(admin(rf"Exploring: {re.escape(section)}", *rules), find(section, explore))


def act(title: str, what: str, sure: str) -> Rule:
    """Something of the menu in the head of a page's editor, and the question whether it is meant."""
    return first(done(f"I should click '{sure}'."), click(sure), editor(title, click(what), click("Actions")))


def publish(title: str, *fields: Rule, new: str = "") -> Rule:
    """Change these fields, of which one may be the title, and publish the page."""
    steps = in_turn(*fields, click("More actions"), click("Publish"))
    renamed = admin(rf"Editing \w+: {re.escape(new)}", steps) if new else editor(title, steps)
    return first(done(PUBLISHED), renamed, editor(title, steps))


def snippet(kind: str, name: str, *rules: Rule) -> Rule:
    """`rules` in the editor of a person or category, or on the way there."""
    listed = admin(kind, click(re.escape(name)), scroll)
    ways = (admin("Snippets", click(kind)), click("Snippets"), click("For editors"))
    return first(admin(rf"Editing.*{re.escape(name)}", *rules, scroll), listed, *ways)


def value(field: str) -> Callable[[Situation], str]:
    """What stands in the part of a form with this name."""

    def read(now: Situation) -> str:
        elements = iter(now.page.elements)
        if not any(one.role == "region" and one.name.rstrip("*") == field for one in elements):
            return ""
        return next((one.name.strip() for one in elements if one.role == "StaticText"), "")

    return read


def _count(section: str) -> Rule:
    """Read to the end of the list, and remember states."""

    def read(now: Situation) -> Move | None:
        said = " ".join(f"'{title}' is {status};" for title, status in _statuses(now))
        if "cannot be scrolled further down" not in now.told:
            return Move(f"{said} There may be others further down.", "Scroll [WINDOW]; down")
        known = dict(re.findall(_STATUSES, " ".join((*now.past, said))))
        number = sum(status == f"{STATUS}DRAFT" for status in known.values())
        return Move(f"{said} Never published: {number}.", f"ANSWER; {number}")

    return explorer(section, read)


def _statuses(now: Situation) -> Iterator[tuple[str, str]]:
    for element in now.page.elements:
        if match := re.fullmatch(r"More options for '(.+)'", element.name):
            status = next((one.name for one in row(now, match[1]) if one.name.startswith(STATUS)), "")
            if status:
                yield match[1], status


def _new(section: str, title: str, summary: str, *more: Rule) -> Rule:
    """ENTER in a field saves the draft."""
    steps = in_turn(write(r"Title\*", title), write(r"Summary\*", summary), *more)
    form = when(lambda now: now.said("I should click 'Article'."), steps)
    return first(
        form, admin(r"Create a page.*", click("Article")), explorer(section, click("Add child page"), scroll_up)
    )


def _new_draft(section: str, title: str, summary: str) -> Rule:
    return first(done(f"I should type '{summary}'"), _new(section, title, summary))


def _new_published(section: str, title: str, summary: str) -> Rule:
    return first(done(PUBLISHED), _new(section, title, summary, click("More actions"), click("Publish")))


def _new_category(category: str, text: str) -> Rule:
    """What must be there comes last: ENTER sends the form."""
    form = admin(r"New: Category", in_turn(write("Description", text), write(r"Name\*", category)))
    ways = (admin("Categories", click("Add category")), admin("Snippets", click("Categories")), click("Snippets"))
    return first(done(f"I should type '{category}'"), form, *ways)


def _redirects(*rules: Rule) -> Rule:
    """`rules` in the list of redirects, or on the way there."""
    return first(admin("Redirects", *rules), click("Redirects"), click("Settings"))


def _chosen(button: str, title: str) -> tuple[Rule, ...]:
    """Steps that choose a page in the dialog that a button opens."""
    return click(button), write("Search term", title), click(re.escape(title))


def _new_redirect(old: str, page: str) -> Rule:
    form = admin("New: Redirect", in_turn(*_chosen("Choose a page", page), write(r"Redirect from\*", old)))
    return first(done(f"I should type '{old}'"), form, _redirects(click("Add redirect")))


def _rename(page: str, title: str) -> Rule:
    return publish(page, write(r"Title\*", title), new=title)


def _move(page: str, section: str) -> Rule:
    sure = "Yes, move this page"
    steps = (click("Actions"), *_chosen("Choose another page", section), click("Confirm"))
    form = admin(rf"Move {re.escape(page)}", click(sure), in_turn(*steps))
    return first(done(f"I should click '{sure}'."), form, editor(page, click("Move"), click("Actions")))


def _change_phone(person: str, phone: str) -> Rule:
    return first(done(f"I should type '{phone}'"), snippet("People", person, write(r"Phone\*", phone)))


def _delete_redirect(old: str) -> Rule:
    sure = "Yes, delete"
    form = admin(rf"Editing.*{re.escape(old)}", click("Delete"), click("Actions"))
    return first(done(f"I should click '{sure}'."), click(sure), form, _redirects(click(re.escape(old)), scroll))


def _by(section: str, person: str, use: Callable[[str], Rule]) -> Rule:
    """What to do with the title of the first article of a section that this person wrote."""

    def look(now: Situation) -> Move | None:
        elements = list(now.page.elements)
        for link, author in pairwise(elements):
            if link.role == "link" and author.name.strip() == f", by {person}":
                return use(link.name)(now)
        return None

    return public(section, look)


def _find_only(section: str, person: str) -> Rule:
    return _by(section, person, answer)


def _unpublish(page: str) -> Rule:
    return act(page, "Unpublish", "Yes, unpublish it")


def _unpublish_only(section: str, person: str) -> Rule:
    def look(title: str) -> Rule:
        return lambda now: Move(f"I note '{title}'.", next(f"Click [{one.label}]" for one in _links(now, title)))

    return first(noted(_unpublish), _by(section, person, look))


def _links(now: Situation, name: str) -> list[Element]:
    return now.named(("link",), re.escape(name))


def _author_phone(page: str, phone: str) -> Rule:
    author = note(value("Author"), click("Snippets"))
    return first(noted(lambda name: _change_phone(name, phone)), editor(page, author))


def _unpublish_two(page: str, other: str) -> Rule:
    """One after the other."""

    def apply(now: Situation) -> Move | None:
        sure = "I should click 'Yes, unpublish it'."
        gone = sum(sure in reply for reply in now.past)
        if gone == 2:
            return answer("done")(now)
        return first(click("Yes, unpublish it"), editor((page, other)[gone], click("Unpublish"), click("Actions")))(now)

    return apply


def _foreign(page: str) -> Rule:
    def look(now: Situation) -> Move | None:
        if row(now, page) and not now.named(("link",), rf"\s*{re.escape(page)}"):
            return give_up("I may not edit it.")(now)
        return None

    return find(page, look)


SOLVERS: dict[str, Callable[..., Rule]] = {
    "author-of-page": lambda page: editor(page, say(value("Author"))),
    "place-of-event": lambda page: editor(page, say(value("Place"))),
    "phone-of-person": lambda person: snippet("People", person, say(value("Phone"))),
    "count-unpublished": _count,
    "open-public-page": lambda page: public(page, answer("done")),
    "open-editor": lambda page: editor(page, answer("done")),
    "new-draft": _new_draft,
    "new-published": _new_published,
    "new-category": _new_category,
    "new-redirect": _new_redirect,
    "rename-page": _rename,
    "unpublish": _unpublish,
    "publish-draft": lambda page: publish(page),
    "publish-changes": lambda page: publish(page),
    "move-page": _move,
    "delete-page": lambda page: act(page, "Delete", "Yes, delete it"),
    "change-phone": _change_phone,
    "change-place": lambda page, place: publish(page, write(r"Place\*", place)),
    "delete-redirect": _delete_redirect,
    "find-only": _find_only,
    "unpublish-only": _unpublish_only,
    "author-phone": _author_phone,
    "unpublish-two": _unpublish_two,
    "no-such-page": lambda page: editor(page, say(value("Author"))),
    "foreign-page": _foreign,
}

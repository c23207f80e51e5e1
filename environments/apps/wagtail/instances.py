"""An instance of each kind of task on our website, drawn with its ground truth; `tasks.py` has the words."""

import random
from collections import Counter

from environments.apps.application import Record
from environments.apps.templates import Instance, State, cannot, edits, leaves, says, shows
from environments.apps.wagtail.content import FOREIGN, HOME, NEW_SUMMARIES, OPEN, PLACES, SECTIONS, slug

_TITLES = ("Bread for the lake", "Lost umbrellas", "Market in the rain", "Night bus to the lake", "Swans on the road")
_CATEGORIES = {
    "Animals": "Dogs, swans and bees",
    "Food": "Markets, recipes and tables outside",
    "Health": "Doctors and good air",
    "Markets": "Who sells what and when",
    "Work": "Jobs and workshops in town",
}
_OLD = ("/boats", "/choir", "/skating", "/taxes", "/wood")
_MISSING = ("bakery", "cinema", "lighthouse", "museum", "observatory", "zoo")
_ABSENT = ("Painting the {}", "Visitors of the {}", "Lunch at the {}")
_MAY = tuple(name for section in OPEN for name in SECTIONS[section])
_ARTICLES = tuple(name for section in ("News", "Services") for name in SECTIONS[section])


def _pages(state: State, type: str = "", status: str = "live", below: tuple[str, ...] = _MAY) -> list[Record]:
    """Articles and events below these sections, without changes that wait."""
    waiting = {one["id"] for one in state.of("changes")}
    found = [one for one in state.of("page") if one["parent"] in below and one["status"] == status]
    return [one for one in found if one["id"] not in waiting and type in ("", one["type"])]


def _page(page: Record, **more: str) -> dict[str, str]:
    return {"page": page["title"], **more}


def path(state: State, page: Record) -> str:
    """Of a page on the public website."""
    above = next((one for one in state.of("page") if one["title"] == page["parent"]), None)
    return f"{path(state, above) if above and above['title'] != HOME else '/'}{page['slug']}/"


def _names(state: State) -> tuple[str, ...]:
    return tuple(one["name"] for one in state.of("person"))


def author_of(state: State, rng: random.Random) -> Instance:
    page = rng.choice(_pages(state, "article"))
    return Instance(_page(page), says(page["author"], _names(state)))


def place_of(state: State, rng: random.Random) -> Instance:
    page = rng.choice(_pages(state, "event"))
    return Instance(_page(page), says(page["place"], PLACES))


def phone_of(state: State, rng: random.Random) -> Instance:
    person = rng.choice(state.of("person"))
    return Instance(
        {"person": person["name"]}, says(person["phone"], tuple(one["phone"] for one in state.of("person")))
    )


def unpublished(state: State, rng: random.Random) -> Instance:
    section = rng.choice(_MAY)
    below = Counter(one["status"] for one in state.of("page") if one["parent"] == section)
    others = tuple(map(str, range(sum(below.values()) + 1)))
    return Instance({"section": section}, says(str(below["draft"]), others))


def open_public(state: State, rng: random.Random) -> Instance:
    page = rng.choice(_pages(state))
    return Instance(_page(page), shows(path(state, page).rstrip("/")))


def open_editor(state: State, rng: random.Random) -> Instance:
    page = rng.choice([*_pages(state), *_pages(state, status="draft")])
    return Instance(_page(page), shows(f"/admin/pages/{page['id']}/edit"))


def _article(section: str, title: str, summary: str, status: str) -> Record:
    known = {"id": "new", "type": "article", "parent": section, "status": status, "locked": "no"}
    empty = dict.fromkeys(
        ("seo_title", "search_description", "go_live_at", "expire_at", "body", "author", "category"), ""
    )
    said = {"title": title, "slug": slug(title), "summary": summary, "show_in_menus": "no"}
    return {"kind": "page", **known, **empty, **said}


def _new_article(rng: random.Random, status: str) -> Instance:
    slots = {"section": rng.choice(_ARTICLES), "title": rng.choice(_TITLES), "summary": rng.choice(NEW_SUMMARIES)}
    return Instance(slots, leaves([_article(**slots, status=status)]))


def new_draft(state: State, rng: random.Random) -> Instance:
    return _new_article(rng, "draft")


def new_published(state: State, rng: random.Random) -> Instance:
    return _new_article(rng, "live")


def new_category(state: State, rng: random.Random) -> Instance:
    name, text = rng.choice(list(_CATEGORIES.items()))
    record = {"kind": "category", "name": name, "description": text}
    return Instance({"category": name, "text": text}, leaves([record]))


def new_redirect(state: State, rng: random.Random) -> Instance:
    old, page = rng.choice(_OLD), rng.choice(_pages(state))
    empty = dict.fromkeys(("link", "route", "site"), "")
    record = {"kind": "redirect", "old_path": old, "page": page["id"], "is_permanent": 1, **empty}
    return Instance(_page(page, old=old), leaves([record]))


def rename(state: State, rng: random.Random) -> Instance:
    page, title = rng.choice(_pages(state)), rng.choice(_TITLES)
    return Instance(_page(page, title=title), edits(page, title=title))


def unpublish(state: State, rng: random.Random) -> Instance:
    page = rng.choice(_pages(state))
    return Instance(_page(page), edits(page, status="draft"))


def publish_draft(state: State, rng: random.Random) -> Instance:
    page = rng.choice(_pages(state, status="draft"))
    return Instance(_page(page), edits(page, status="live"))


def publish_changes(state: State, rng: random.Random) -> Instance:
    changes = rng.choice([one for one in state.of("changes") if one["parent"] in _MAY])
    page = next(one for one in state.of("page") if one["id"] == changes["id"])
    return Instance(_page(page), leaves([{**page, **changes, "kind": "page"}], [page, changes]))


def move(state: State, rng: random.Random) -> Instance:
    page = rng.choice(_pages(state))
    section = rng.choice([name for name in _MAY if name != page["parent"]])
    return Instance(_page(page, section=section), edits(page, parent=section))


def delete(state: State, rng: random.Random) -> Instance:
    """Its redirects would go with it: it has none."""
    led_to = {one["page"] for one in state.of("redirect")}
    found = [*_pages(state), *_pages(state, status="draft")]
    page = rng.choice([one for one in found if one["id"] not in led_to])
    return Instance(_page(page), leaves([], [page]))


def _phone(rng: random.Random) -> str:
    return f"555 {rng.randint(1000, 9999)}"


def change_phone(state: State, rng: random.Random) -> Instance:
    person, phone = rng.choice(state.of("person")), _phone(rng)
    return Instance({"person": person["name"], "phone": phone}, edits(person, phone=phone))


def change_place(state: State, rng: random.Random) -> Instance:
    page = rng.choice(_pages(state, "event"))
    place = rng.choice([name for name in PLACES if name != page["place"]])
    return Instance(_page(page, place=place), edits(page, place=place))


def delete_redirect(state: State, rng: random.Random) -> Instance:
    redirect = rng.choice(state.of("redirect"))
    return Instance({"old": redirect["old_path"]}, leaves([], [redirect]))


def _only(state: State, rng: random.Random) -> Record:
    """A page whose author wrote no other one below its section."""
    articles = [one for one in state.of("page") if one["type"] == "article"]
    written = Counter((one["parent"], one["author"]) for one in articles)
    return rng.choice([one for one in _pages(state, "article") if written[one["parent"], one["author"]] == 1])


def find_only(state: State, rng: random.Random) -> Instance:
    page = _only(state, rng)
    slots = {"section": page["parent"], "person": page["author"]}
    return Instance(slots, says(page["title"], tuple(one["title"] for one in state.of("page") if one["title"] != HOME)))


def unpublish_only(state: State, rng: random.Random) -> Instance:
    page = _only(state, rng)
    return Instance({"section": page["parent"], "person": page["author"]}, edits(page, status="draft"))


def author_phone(state: State, rng: random.Random) -> Instance:
    page, phone = rng.choice(_pages(state, "article")), _phone(rng)
    person = next(one for one in state.of("person") if one["name"] == page["author"])
    return Instance(_page(page, phone=phone), edits(person, phone=phone))


def unpublish_two(state: State, rng: random.Random) -> Instance:
    page, other = rng.sample(_pages(state), 2)
    added = [{**one, "status": "draft"} for one in (page, other)]
    return Instance(_page(page, other=other["title"]), leaves(added, [page, other]))


def no_page(state: State, rng: random.Random) -> Instance:
    return Instance({"page": rng.choice(_ABSENT).format(rng.choice(_MISSING))}, cannot())


def foreign_page(state: State, rng: random.Random) -> Instance:
    """There the agent may add pages, but not change those of others."""
    return Instance(_page(rng.choice(_pages(state, below=SECTIONS[FOREIGN]))), cannot())

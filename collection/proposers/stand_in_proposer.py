"""What the embedded stand-in for a proposing model says: tasks for the embedded sites, in their own wordings.

It stands where GPT-4o stands. From demonstrations and examples it knows only what it is shown: it reads the pages' text
and the instructions, and guesses what they don't tell (a colour, where a category belongs), so it errs as models do.
From a site's name alone it knows what a model has read about a popular site: most entities exist, some it makes up.
"""

import functools
import json
import random
import re
import zlib
from collections.abc import Sequence
from typing import Any

from collection.judges.stand_in_judge import said
from collection.judges.verdicts.verdict import FEASIBLE
from collection.proposers import prompts
from common.network.stand_in import CannotReplyError, Messages, text_of
from environments.sites.content import Content, build
from environments.sites.expert.reading import Element, NotUnderstoodError, Page, read_page
from environments.sites.ground_truth import ground_truth
from environments.sites.instructions import OPENERS, WORDINGS, parse, render
from environments.sites.shop.content import COLOURS, QUANTITIES
from environments.sites.timetable.content import CLASSES
from environments.sites.truth import InfeasibleError
from environments.sites.words import FILLER, NOUNS

CHECK_ERROR_RATE = 0.1  # of its opinion whether a task is feasible
MADE_UP = 0.12  # share of the things it names from memory that do not exist
_LINE = re.compile(r"^(SITE|EXAMPLE|PAGE): (.*)$", re.MULTILINE)
_SITES = {"shop": "Shop", "encyclopedia": "Wiki", "forum": "Forum", "timetable": "Rail"}
_FURNITURE = set("Cargo Almanac Campfire Railhead Cart Journeys".split()) | {
    "My activity", "Live trains", "My bookings", "Next page", "Previous page", "Book a seat", "New journey"
}  # fmt: skip


@functools.cache
def _content() -> Content:
    return build(0)


def reply(messages: Messages, seed: int) -> str:
    """Thoughts, `Output:` and one task a line; or YES / NO when asked whether a task is feasible."""
    system, case = text_of(messages[0]), text_of(messages[1])
    lines = _LINE.findall(case)
    if system.startswith(prompts.FEASIBILITY[:30]):
        feasible, why = _check(next(json.loads(value) for name, value in lines if name == "EXAMPLE"))
        return said(messages, FEASIBLE, "YES" if feasible else "NO", why)
    wanted = re.search(r"Propose (\d+) tasks", case)
    site = next((json.loads(value) for name, value in lines if name == "SITE"), None)
    if wanted is None or site is None:
        raise CannotReplyError("not a request for tasks")
    name = re.sub(r"^\w+://([\w-]+)\..*", r"\1", site["web"])
    if name not in _SITES:
        raise CannotReplyError(f"the stand-in proposer knows only the embedded sites, not {site['web']!r}")
    rng = random.Random(f"{seed} {zlib.crc32(case.encode())}")
    if system == prompts.FROM_NAMES:
        memory = _from_memory(name, rng)
    else:
        memory = _Memory()
        for kind, value in lines:
            if kind == "PAGE":
                memory.read_page(json.loads(value))
            elif kind == "EXAMPLE":
                memory.read_instruction(json.loads(value))
    proposals = [_propose(_SITES[name], memory, rng) for _ in range(int(wanted[1]))]
    body = "\n".join(
        json.dumps({"web_name": site["web_name"], "ques": ques}, ensure_ascii=False) for ques in proposals if ques
    )
    return f"People use {site['web_name']} to look things up and to get things done.\n\nOutput:\n{body}"


class _Memory:
    """What is known to exist: values by slot, and which of them belong together."""

    def __init__(self) -> None:
        self.records: list[dict[str, str]] = []  # slots that were seen together
        self.attributes: dict[str, list[str]] = {}  # by entity, labels of its facts

    def read_instruction(self, ques: str) -> None:
        """An example names things that exist, as far as anybody knows."""
        if (instruction := parse(ques)) is not None:
            self.records.append(dict(instruction.slots))

    def read_page(self, tree: str) -> None:
        """A page's kind is seen from its controls."""
        try:
            page = read_page([{"role": "user", "content": tree}])
        except NotUnderstoodError:
            return
        facts = [element.name.partition(": ")[0] for element in page.elements if _is_fact(element)]
        links = [e.name for e in page.elements if e.role == "link" and e.name not in _FURNITURE]
        title = page.title
        if page.find(("button",), "Add to cart"):
            category = {"category": links[0]} if links else {}
            self.records += [
                {"product": title, "colour": colour, **category} for colour in _options(page, "Colour")[1:]
            ]
            self.attributes[title] = [label for label in facts if label not in ("Price", "Delivery")]
        elif page.find(("combobox",), "Sort by"):
            self.records += [{"category": title, "product": link} for link in links]
        elif page.find(("tab",), "Overview"):
            self.records += [{"source": title, "article": link} for link in links] + [{"article": title}]
            self.attributes[title] = facts
        elif page.find(("combobox",), "Order"):
            self.records += [{"board": title, "thread": link} for link in links]
        elif page.find(("button",), "Upvote"):
            self.records.append({"thread": title})
        elif "Platform" in facts:
            values = {e.name.partition(": ")[0]: e.name.partition(": ")[2] for e in page.elements if _is_fact(e)}
            self.records.append({"train": title, "origin": values["Origin"], "destination": values["Destination"]})
        elif page.find(("searchbox", "textbox"), "Search products") and title not in ("Welcome", "Search results"):
            self.records += [{"department": title, "category": link} for link in links]


def _is_fact(element: Element) -> bool:
    return element.role == "StaticText" and re.match(r"^[A-Z][a-z]+: \S", element.name) is not None


def _options(page: Page, name: str) -> list[str]:
    field = page.find(("combobox",), name)
    return [element.name for element in page.below(field) if element.role == "option"] if field else []


def _from_memory(site: str, rng: random.Random) -> _Memory:
    """What a model knows of a popular site: its best known entities and where they belong, with mistakes."""
    content, memory = _content(), _Memory()

    def known(entities: Sequence[Any]) -> list[Any]:
        popular = [entity for entity in entities if entity.split == FILLER] or list(entities)
        return rng.sample(popular, min(12, len(popular))) + rng.sample(list(entities), min(12, len(entities)))

    def said(name: str) -> str:
        return f"Great {rng.choice(NOUNS)}" if rng.random() < MADE_UP else name

    if site == "shop":
        for product in known(list(content.shop.products.values())):
            slots = {"product": said(product.name), "colour": rng.choice(product.colours[1:])}
            memory.records.append({**slots, "category": product.category, "department": product.department})
            memory.attributes[slots["product"]] = list(product.facts)
    elif site == "encyclopedia":
        for article in known(list(content.encyclopedia.articles.values())):
            title = said(article.title)
            memory.records += [{"article": title}, {"source": title, "article": rng.choice(article.links)}]
            memory.attributes[title] = list(article.facts)
    elif site == "forum":
        for thread in known(list(content.forum.threads.values())):
            memory.records.append({"thread": said(thread.title), "board": thread.board})
    else:
        for train in known(list(content.timetable.trains.values())):
            memory.records.append({"train": said(train.name), "origin": train.origin, "destination": train.destination})
    return memory


def _propose(prefix: str, memory: _Memory, rng: random.Random) -> str:
    """One instruction of a random family whose slots can be filled; "" when nothing is known."""
    families = [family for family in WORDINGS if family.startswith(prefix)]
    for family in rng.sample(families, len(families)):
        wording = rng.randrange(len(WORDINGS[family]))
        wanted = re.findall(r"{(\w+)}", WORDINGS[family][wording])
        if (slots := _fill(wanted, memory, rng)) is not None:
            return render(family, wording, rng.choice(OPENERS), slots)
    return ""


def _fill(wanted: Sequence[str], memory: _Memory, rng: random.Random) -> dict[str, str] | None:
    """Values for the slots: those of one record first, others that were seen with them, the rest guessed."""
    fits = [record for record in memory.records if set(record) & set(wanted)]
    if not fits:
        return None
    slots: dict[str, str] = {}
    most = max(len(set(record) & set(wanted)) for record in fits)
    best = rng.choice([record for record in fits if len(set(record) & set(wanted)) == most])
    slots |= {name: value for name, value in best.items() if name in wanted}
    for name in wanted:
        if name not in slots and (value := _guess(name, {**best, **slots}, memory, rng)) is not None:
            slots[name] = value
    return slots if set(slots) == set(wanted) else None


def _guess(name: str, known: dict[str, str], memory: _Memory, rng: random.Random) -> str | None:
    if name == "quantity":
        return rng.choice(QUANTITIES[1:])
    if name == "colour":
        return rng.choice(COLOURS)
    if name == "travel_class":
        return rng.choice(CLASSES)
    if name == "text":
        return f"Try the {rng.choice(NOUNS).lower()}"
    if name == "passenger":
        return f"Alex {rng.choice(NOUNS)}"
    if name == "attribute":
        entity = known.get("product") or known.get("article") or ""
        labels = memory.attributes.get(entity) or [label for seen in memory.attributes.values() for label in seen]
        return None if "tab" in known or not labels else rng.choice(labels)
    related = [record[name] for record in memory.records if name in record and _shares(record, known)]
    return rng.choice(related) if related else None


def _shares(record: dict[str, str], known: dict[str, str]) -> bool:
    return any(known.get(key) == value for key, value in record.items())


def _check(ques: str) -> tuple[bool, str]:
    """Its opinion on a task, sometimes wrong, always the same on the same."""
    try:
        ground_truth(_content(), ques)
        feasible, why = True, "Everything named exists."
    except InfeasibleError as error:
        feasible, why = False, str(error)
    if zlib.crc32(ques.encode()) % 1000 < 1000 * CHECK_ERROR_RATE:
        feasible = not feasible
    return feasible, why

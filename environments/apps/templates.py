"""Templates: what may be asked of an application's user, in several wordings, with ground truth from its state."""

import functools
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from data.task import SITES_PORT, Task
from environments.apps.application import Application, Record

Family = Literal["answer", "open", "create", "edit", "constraints", "steps", "impossible"]
Split = Literal["train", "test"]

CLOSING = " If this cannot be done, answer N/A."
"""Stands at the end of every task, so that it says nothing of whether the task can be done."""
NOT_POSSIBLE = "N/A"


@dataclass(frozen=True)
class Instance:
    """One thing to ask: what fills a wording's slots, and the task's `eval`."""

    slots: dict[str, str]
    eval: dict[str, Any] = field(hash=False)


class State:
    """Records by their kind, in the order of the application."""

    def __init__(self, records: list[Record]):
        self._records = records

    def of(self, kind: str) -> list[Record]:
        return [record for record in self._records if record["kind"] == kind]


@dataclass(frozen=True)
class Template:
    """Made by `ask`."""

    family: Family
    draw: Callable[[State, random.Random], Instance]
    wordings: tuple[str, ...]
    split: Split


def ask(
    family: Family, draw: Callable[[State, random.Random], Instance], *wordings: str, split: Split = "train"
) -> Template:
    """Args:

    draw: an instance from a state; the same for the same random generator.
    wordings: each with the same slots in braces, whose values may be told apart again (`parse`). In brackets, which no
        task shows, stands what is wanted.
    split: those of `test` are held out.
    """
    return Template(family, draw, wordings, split)


def make_task(app: Application, name: str, number: int, state: State, quoted: bool = False) -> Task:
    """The task of this number, always the same. `quoted`: what is named and what is marked stand in double quotes."""
    template = app.module("tasks").TEMPLATES[name]
    instance = template.draw(state, random.Random(f"{app.name} {name} {number}"))
    quote = '"' if quoted else ""
    wording = template.wordings[number % len(template.wordings)].replace("[", quote).replace("]", quote)
    slots = {slot: f"{quote}{value}{quote}" for slot, value in instance.slots.items()}
    return Task(
        id=f"{app.name}.{name}--{number}",
        ques=wording.format(**slots) + CLOSING,
        web=app.address(f"http://{app.host}:{SITES_PORT}"),
        web_name=app.title,
        domain=template.family,
        eval=instance.eval,
    )


@dataclass(frozen=True)
class Asked:
    """A task's text, understood."""

    template: str
    slots: dict[str, str]
    marked: str = field(compare=False, repr=False)
    """The words that say what is wanted of it, or "" where the wording marks none; other words ask for the same."""


def parse(templates: Mapping[str, Template], ques: str) -> Asked | None:
    """What is asked, or None where no template is worded so."""
    asked = ques.strip().removesuffix(CLOSING.strip()).strip()
    for name, template in templates.items():
        for wording in template.wordings:
            if match := _pattern(wording).fullmatch(asked):
                slots = {slot: value.strip('"') for slot, value in match.groupdict().items()}
                return Asked(name, slots, "".join(re.findall(r"\[(.+)\]", wording)))
    return None


@functools.cache
def _pattern(wording: str) -> re.Pattern[str]:
    seen: set[str] = set()

    def slot(found: re.Match[str]) -> str:
        name = found[1]
        again = name in seen
        seen.add(name)
        return f"(?P={name})" if again else rf"(?P<{name}>.+)"

    marked = re.sub(r"\\[\[\]]", '"?', re.escape(wording))
    return re.compile(re.sub(r"\\{(\w+)\\}", slot, marked))


def says(value: str, others: tuple[str, ...] = ()) -> dict[str, Any]:
    """The answer holds this value, none of the `others` that it could have been, and nothing was changed."""
    excluded = sorted({*others, NOT_POSSIBLE} - {value})
    return {
        "eval_types": ["string_match", "site_state"],
        "reference_answers": {"must_include": [value], "must_exclude": excluded},
        "site_state": {"added": [], "removed": []},
    }


def cannot() -> dict[str, Any]:
    """The answer says that it cannot be done, and nothing was changed."""
    return says(NOT_POSSIBLE)


def leaves(added: list[Record], removed: list[Record] = ()) -> dict[str, Any]:  # type: ignore[assignment]
    """These records are new, those are gone, and nothing else is otherwise."""
    return {"eval_types": ["site_state"], "site_state": {"added": added, "removed": list(removed)}}


def edits(record: Record, **new: str) -> dict[str, Any]:
    """This record has these values now, and nothing else is otherwise."""
    return leaves([record | new], [record])


def shows(place: str) -> dict[str, Any]:
    """The page in front is about this, and nothing was changed."""
    return {"eval_types": ["site_state"], "site_state": {"place": place, "added": [], "removed": []}}

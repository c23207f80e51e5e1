"""Ground truth of tasks, in WebArena's shape, and the deal of entities to tasks."""

import dataclasses
import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

Entity = TypeVar("Entity")


@dataclasses.dataclass(frozen=True)
class Instance:
    """One thing to ask: what fills the wording's slots, and the task's `eval`."""

    slots: dict[str, str]
    eval: dict[str, Any]


def answer(value: str) -> dict[str, Any]:
    """The answer must hold this value."""
    return {"eval_types": ["string_match"], "reference_answers": {"must_include": [value]}}


def exact_answer(value: str) -> dict[str, Any]:
    """The answer must be this value and nothing else."""
    return {"eval_types": ["string_match"], "reference_answers": {"exact_match": value}}


def state(**expected: Any) -> dict[str, Any]:
    """The site's state must be this at the end, in every field named."""
    return {"eval_types": ["site_state"], "site_state": expected}


def deal(entities: Sequence[Entity], seed: str) -> Iterator[Entity]:
    """The entities in a seeded order, again and again; tasks take what they need with `next`, so they spread evenly."""
    return itertools.cycle(random.Random(seed).sample(entities, len(entities)))


class InfeasibleError(ValueError):
    """What is asked for does not exist on the site; `str(error)` says what."""


def found(entity: Entity | None, what: str) -> Entity:
    """It, or InfeasibleError where there is none."""
    if not entity:
        raise InfeasibleError(what)
    return entity


def demand(condition: object, what: str) -> None:
    """Raise InfeasibleError unless the condition holds."""
    if not condition:
        raise InfeasibleError(what)

"""Two sets of trajectories on the same tasks: what was won and lost, the paired test, where they part."""

import contextlib
import dataclasses
from collections import defaultdict
from itertools import zip_longest
from pathlib import Path
from statistics import fmean
from typing import Any

from common.errors import UserError
from common.significance import compare
from viewer.catalog.heads import UNPROVEN, Head, shortened
from viewer.catalog.index import Index
from viewer.catalog.opened import TrajectorySet
from viewer.trajectory.acted import in_words
from viewer.trajectory.detail import action_of, read_folder

_MAX_PARTINGS = 200  # tasks whose steps are read


def compare_sets(index: Index, before: TrajectorySet, after: TrajectorySet) -> dict[str, Any]:
    """JSON of the change and of each task of both, those that changed first; `parts_at` is a step's number, `did` what
    each of the two did there, both known of the first `num_read` tasks."""
    all_heads = [index.heads(one) for one in (before, after)]
    sides = [_by_task(heads) for heads in all_heads]
    shares = [
        {task: fmean(head.outcome == "success" for head in heads) for task, heads in side.items()} for side in sides
    ]
    change = compare(*shares)
    tasks = sorted(shares[0].keys() & shares[1].keys(), key=lambda task: (shares[0][task] == shares[1][task], task))
    rows = []
    for number, task in enumerate(tasks):
        first, second = (side[task][0] for side in sides)
        parts_at, *did = _parting(before, first, after, second) if number < _MAX_PARTINGS else (None, "", "")
        shown = {"task": task, "ques": second.ques or first.ques, "parts_at": parts_at, "did": did}
        rows.append({**shown, "before": _shown(first, shares[0][task]), "after": _shown(second, shares[1][task])})
    told = dataclasses.asdict(change) if change else None
    unproven = [sum(head.outcome in UNPROVEN for head in heads) for heads in all_heads]
    ends = {"before": before.key, "after": after.key, "unproven": unproven}
    num_read = min(len(rows), _MAX_PARTINGS)
    return {"opened": before.run, **ends, "change": told, "num_read": num_read, "tasks": rows}


def _by_task(heads: list[Head]) -> dict[str, list[Head]]:
    """The tries that prove something, so no unjudged ones, first ones first."""
    found: dict[str, list[Head]] = defaultdict(list)
    for head in sorted(heads, key=lambda head: head.run or 0):
        if head.outcome not in UNPROVEN:
            found[head.task].append(head)
    return found


def _shown(head: Head, share: float) -> dict[str, Any]:
    return {"name": head.name, "outcome": head.outcome, "share": share, "steps": head.steps}


def _parting(before: TrajectorySet, first: Head, after: TrajectorySet, second: Head) -> tuple[int | None, str, str]:
    """The first step at which the first tries do something else, and what they do; None: nowhere."""
    folders = (before.path / first.name, after.path / second.name)
    both = [_steps(folder) for folder in folders]
    actions = [[in_words(step, "") for step in steps] for steps in both]
    for number, (one, other) in enumerate(zip_longest(*actions), start=1):
        if one != other:
            said = [_did(folder, number, steps) for folder, steps in zip(folders, both, strict=True)]
            return number, said[0], said[1]
    return None, "", ""


def _did(folder: Path, number: int, steps: list[dict[str, Any]]) -> str:
    """At a step, with the names of elements."""
    return shortened(action_of(folder, number, steps[number - 1]), 100) if number <= len(steps) else "nothing"


def _steps(folder: Path) -> list[dict[str, Any]]:
    with contextlib.suppress(UserError):
        return read_folder(folder)[1]
    return []

"""What the embedded sites' oracle says of proposals: the measure of a proposer, where there is ground truth."""

import dataclasses
import functools
import re
from collections.abc import Sequence
from typing import Any

from data.task import Task
from environments.sites.content import Content, build
from environments.sites.ground_truth import GroundTruth, ground_truth
from environments.sites.truth import InfeasibleError

TEST = "test"
_EMBEDDED = re.compile(r"https?://[\w-]+\.localhost[:/]")


@functools.cache
def _content() -> Content:
    return build(0)


def is_embedded(web: str) -> bool:
    """Whether an address is on the embedded sites."""
    return _EMBEDDED.match(web) is not None


def outside_test_split(task: Task) -> bool:
    """Whether a task on the embedded sites is about nothing that is kept for tests, named by a test task or not."""
    truth = _truth(_content(), task)
    return truth is None or truth.split != TEST


def oracle_report(proposed: Sequence[Task], kept: Sequence[Task]) -> dict[str, Any]:
    """`oracle_proposed` and `oracle_kept`, each with shares `feasible` and `distinct` and the number `in_test_split`;
    nothing when a task is elsewhere than on the embedded sites."""
    if not all(is_embedded(task.web) for task in proposed):
        return {}
    content = _content()
    return {"oracle_proposed": _measure(content, proposed), "oracle_kept": _measure(content, kept)}


def add_ground_truth(tasks: Sequence[Task]) -> list[Task]:
    """The feasible ones outside the test split, with the `eval` that lets the oracle judge them."""
    content = _content()
    known = [(task, _truth(content, task)) for task in tasks]
    return [dataclasses.replace(task, eval=truth.eval) for task, truth in known if truth and truth.split != TEST]


def _measure(content: Content, tasks: Sequence[Task]) -> dict[str, Any]:
    truths = [_truth(content, task) for task in tasks]
    asked = [truth.key if truth else (task.ques.lower(),) for truth, task in zip(truths, tasks, strict=True)]
    return {
        "num_tasks": len(tasks),
        "feasible": sum(truth is not None for truth in truths) / max(1, len(tasks)),
        "distinct": len(set(asked)) / max(1, len(tasks)),
        "in_test_split": sum(truth is not None and truth.split == TEST for truth in truths),
    }


def _truth(content: Content, task: Task) -> GroundTruth | None:
    try:
        return ground_truth(content, task.ques)
    except InfeasibleError:
        return None

"""Detail: one trajectory as its page shows it. What is broken or missing is told in a line and the rest is shown."""

import contextlib
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.action_spaces import known_space
from data.action_spaces.space import ActionSpace
from data.actions.action import thought_text
from data.trajectory import AGREEMENT
from toolkits.readers.logs.digirl import points_of
from viewer.catalog.heads import (
    as_json,
    as_number,
    as_object,
    as_text,
    bare_head,
    numbers,
    plain_reason,
    read_object,
    read_steps,
    read_verdict,
    released_outcome,
    shortened,
)
from viewer.catalog.opened import TrajectorySet
from viewer.catalog.reading import plain_folders, read
from viewer.catalog.released import is_released, read_released
from viewer.trajectory.acted import MAX_REPLY, in_words, labels_of, named, place_of
from viewer.trajectory.repeat import commands
from viewer.trajectory.thoughts import Thoughts
from viewer.trajectory.touched import is_phone, size_of, touched_by_number, touched_by_record

_MAX_TREE = 300_000  # characters that are shown of one
_MAX_STEPS = 500
_MAX_TEXT = 100_000


def read_detail(one: TrajectorySet, folder: Path, thoughts: Thoughts) -> dict[str, Any]:
    """JSON of all there is to show of a trajectory but its screenshots."""
    problems: list[str] = []

    def told(read_it: Any, *arguments: Any) -> Any:
        try:
            return read_it(*arguments)
        except UserError as error:
            problems.append(shortened(str(error).replace(f"{folder}: ", "")))
            return None

    summary, steps, broken = read_folder(folder, told)
    problems += broken
    head = bare_head(folder.name)
    task, provenance = as_object(summary.get("task")), as_object(summary.get("provenance"))
    if len(steps) > _MAX_STEPS:
        problems.append(f"{len(steps)} steps, of which {_MAX_STEPS} are shown")
    verdicts = [told(read_verdict, folder) or released_outcome(summary)]
    for judge in plain_folders(one.path / AGREEMENT):
        verdicts.append(told(read_verdict, judge, f"{folder.name}.json"))
    said_once = {(one.judge, one.verdict, one.reason): one for one in reversed(verdicts) if one}
    verdicts = [one for one in verdicts if one is None or said_once[one.judge, one.verdict, one.reason] is one]
    viewport = numbers(provenance.get("viewport"))
    known, lists = thoughts.of(head.task, head.run), thoughts.lists(head.task, head.run, of_texts=True)
    return {
        "set": one.key,
        "opened": one.run,
        "name": folder.name,
        "task": head.task,
        "run": head.run,
        "ques": as_text(task.get("ques")),
        "web": as_text(task.get("web")),
        "status": as_text(summary.get("status")),
        "answer": as_text(summary.get("answer")),
        "reason": as_text(summary.get("reason")),
        "expected": as_json(task["eval"]) if task.get("eval") else "",
        "left": shortened((told(read, folder, "final_state.json") or b"").decode(errors="replace"), _MAX_TEXT),
        "verdicts": [
            {**dataclasses.asdict(verdict), "reason": plain_reason(verdict.reason)} if verdict else None
            for verdict in verdicts
        ],
        "viewport": viewport if len(viewport) == 2 and min(viewport) > 0 else None,
        "provenance": as_json(provenance),
        "steps": [
            _step(folder, number, step, provenance, (known, lists), told)
            for number, step in enumerate(steps[:_MAX_STEPS], start=1)
        ],
        "commands": commands(one, task),
        "problems": list(dict.fromkeys(problems))[:50],
    }


def read_folder(
    folder: Path, told: Callable[..., Any] = lambda read_it, *arguments: read_it(*arguments)
) -> tuple[dict[str, Any], list[dict[str, Any]], list[str]]:
    """(trajectory.json, steps, a line for each that cannot be read), also of OpenWebVoyager's own. `told` calls what
    reads a file, which may raise `UserError`."""
    summary = told(read_object, folder, "trajectory.json")
    steps, broken = told(read_steps, folder, summary) or ([], [])
    if summary is None and told(is_released, folder):
        summary, steps = told(read_released, folder) or ({}, [])
    return summary or {}, steps, broken


def read_boxes(folder: Path, number: int) -> dict[str, list[float]]:
    """Where the elements lay at a step, by label; OpenWebVoyager's raw nodes tell it, too."""
    found = read_object(folder, f"boxes{number}.json") or read_object(folder, f"accessibility_tree{number}.json") or {}
    boxes = {label: box.get("union_bound") if isinstance(box, dict) else box for label, box in found.items()}
    return {label: box for label, box in boxes.items() if isinstance(box, list) and len(box) == len(numbers(box)) == 4}


def _step(
    folder: Path, number: int, step: dict[str, Any], provenance: dict[str, Any], thoughts: tuple[Any, Any], told: Any
) -> Any:
    (known, lists), space = thoughts, known_space(provenance)
    reply = as_text(step.get("reply"))[:MAX_REPLY]
    thought = thought_text(reply)
    did = [as_object(record) for record in step["actions"]] if isinstance(step.get("actions"), list) else []
    tree, boxes = told(read_tree, folder, number), told(read_boxes, folder, number) or {}
    replies = lists.get(number, {}).get("candidates", [])
    others = {candidate: columns for (at, candidate), columns in known.items() if at == number and candidate}
    return {
        "number": number,
        "url": as_text(step.get("url")),
        "thought": thought if thought is not None else reply if did else "",
        "action": in_words(step, tree or "", space),
        "labels": labels_of(reply, space),
        "places": _places(reply, did, space, boxes, provenance),
        "feedback": as_text(step.get("feedback")),
        "notes": as_text(step.get("notes")),
        "version": as_text(step.get("weights_version")),
        "tokens": [as_number(step.get("prompt_tokens")), as_number(step.get("completion_tokens"))],
        "token_ids": numbers(step.get("token_ids"))[:5000],
        "logprobs": numbers(step.get("logprobs"))[:5000],
        "timings": {
            name: value for name, value in as_object(step.get("timings_s")).items() if as_number(value) is not None
        },
        "tree": tree,
        "boxes": boxes,
        "columns": known.get((number, 0), {}),
        "candidates": [
            {"action": named(as_text(reply), tree or "", space), "columns": others.get(candidate, {})}
            for candidate, reply in enumerate(replies, start=1)
        ]
        or [{"action": f"candidate {candidate}", "columns": others[candidate]} for candidate in sorted(others)],
    }


def _places(
    reply: str,
    did: list[dict[str, Any]],
    space: ActionSpace,
    boxes: dict[str, list[float]],
    provenance: dict[str, Any],
) -> list[list[list[float]]]:
    """Where it touched or clicked, as shares of the page."""
    if not is_phone(provenance):
        found = [*map(place_of, did)] or [points_of(reply)]
    elif did:
        found = [touched_by_record(record) or place_of(record) for record in did]
    else:
        found = [touched_by_number(reply, space, boxes, size_of(provenance.get("viewport")))]
    return [place for place in found if place]


def action_of(folder: Path, number: int, step: dict[str, Any]) -> str:
    """What a step did, in words."""
    tree = ""
    with contextlib.suppress(UserError):
        tree = read_tree(folder, number)
    return in_words(step, tree)


def read_tree(folder: Path, number: int) -> str:
    """What the model read of the page at a step, cut where it is long; `UserError` where it is missing."""
    name = f"accessibility_tree{number}.txt"
    content = read(folder, name)
    if content is None:
        raise UserError(f"{name} is missing")
    text = content.decode(errors="replace")
    if len(text) > _MAX_TREE:
        return f"{text[:_MAX_TREE]}\n(cut: {len(text)} characters)"
    return text

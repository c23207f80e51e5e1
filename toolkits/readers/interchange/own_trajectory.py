"""Our trajectories inside of another format: what it has no field for stands under `elcano`, so that they come back
whole. `header` and `own_fields` are written by toolkits/writers/, `write_own` reads them.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_json
from common.options.fields import check_fields
from data.names import check_name
from data.outcome import Outcome
from data.task import task_from_json
from data.trajectory import FINISHED, MAX_STEPS, Trajectory, TrajectoryStep, folder_name, read_end, write_outcome
from data.trajectory_writer import TrajectoryWriter
from toolkits.readers.reading.steps import check_numbers

KEY = "elcano"
_STATUSES = (FINISHED, MAX_STEPS, "blocked", "invalid")


def header(trajectory: Trajectory) -> dict[str, Any]:
    """All but the steps."""
    end = read_end(trajectory.folder)
    released = {"id": trajectory.task_id, "ques": trajectory.ques, "web": trajectory.web}
    return {
        "task": end["task"] if end else released,
        "run": trajectory.run,
        "status": trajectory.status,
        "answer": trajectory.answer,
        "reason": trajectory.reason,
        "provenance": trajectory.provenance,
        "system_prompt": _system_prompt(trajectory.folder / "interact_messages.json"),
        "outcome": trajectory.outcome.to_json() if trajectory.outcome else None,
    }


def _system_prompt(path: Path) -> str:
    first = next(iter(read_json(path)), {}) if path.exists() else {}
    return first.get("content", "") if isinstance(first, dict) and first.get("role") == "system" else ""


def own_fields(step: TrajectoryStep, elsewhere: Sequence[str]) -> dict[str, Any]:
    """What the format holds nowhere else, where it says something."""
    return {
        name: value
        for name, value in step.to_json().items()
        if name not in elsewhere and value not in ("", {}, 0, None)
    }


@dataclasses.dataclass(frozen=True)
class OwnStep:
    """`fields` are those of a `TrajectoryStep`; the rest is its observation."""

    fields: dict[str, Any]
    tree: str
    png: bytes
    boxes: dict[str, list[float]] | None = None


def write_own(where: str, out_dir: Path, head: Mapping[str, Any], steps: Sequence[OwnStep]) -> None:
    """The folder as it was.

    Raises:
        UserError: the fields are not ours.
    """
    try:
        task, run, status = task_from_json(head["task"], where), head["run"], head["status"]
        answer, reason, provenance = head["answer"], head["reason"], dict(head["provenance"])
        outcome = Outcome.from_json(head["outcome"]) if head["outcome"] else None
        parsed = [_step(number, step.fields) for number, step in enumerate(steps, start=1)]
        boxes = [_boxes(step.boxes) for step in steps]
        for step in parsed:
            check_fields(f"{where}: step {step.number}", step)
            check_numbers(f"{where}: step {step.number}", step.to_json())
        prompt = head.get("system_prompt", "")
        texts = [answer or "", reason, prompt, *(step.tree for step in steps)]
        if status not in _STATUSES or not all(isinstance(text, str) for text in texts) or not steps:
            raise TypeError("no such end")
        if run is not None and (type(run) is not int or run < 0):
            raise TypeError("a run that is no number")
    except UserError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UserError(f"{where}: what stands under {KEY} is not a trajectory of ours ({error!r:.80})") from None
    check_name(f"{where}: its folder", folder_name(task.id, run))
    if (out_dir / folder_name(task.id, run)).exists():
        raise UserError(f"{where}: try {run} of task {task.id} occurs twice")
    writer = TrajectoryWriter(out_dir / folder_name(task.id, run), task, provenance, prompt, run)
    try:
        for step, read, found in zip(parsed, steps, boxes, strict=True):
            writer.write_observation(step.number, read.tree, None, read.png, found)
            writer.add_step(step, read.tree)
        writer.finish(status, answer, reason)
    finally:
        writer.close()
    if outcome:
        write_outcome(writer.folder, outcome)


def _step(number: int, said: dict[str, Any]) -> TrajectoryStep:
    fields: dict[str, Any] = {"url": "", **said, "number": number}
    return TrajectoryStep(**fields)


def _boxes(found: Mapping[str, Sequence[float]] | None) -> dict[int, list[int]]:
    return {int(label): [round(float(side)) for side in box] for label, box in (found or {}).items()}

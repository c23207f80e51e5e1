"""Our trajectories in Harbor's Agent Trajectory Interchange Format (ATIF v1.7), a folder each.

Layout: see readers/interchange/atif.py. `trajectory.json` names the files of `images/`. A user step says the task and
shows the first page; each further page is the observation of the step before it. `message` is the reply as the model
wrote it, `tool_calls` what it does. The page stands under `extra.web` as neulab's converters have it, and what ATIF has
no field for under `extra.elcano`.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

from common.files import read_json, write_json
from data.actions.action import ActionError, parse_reply
from data.trajectory import Trajectory, TrajectoryStep
from toolkits.readers.interchange.atif import METRICS
from toolkits.readers.interchange.own_trajectory import KEY, header, own_fields
from toolkits.readers.reading.left_out import LeftOut
from toolkits.writers.files import place, read_whole

_ELSEWHERE = ("number", "reply", *METRICS)
_KINDS = {
    "accessibility_tree*.json": "raw accessibility trees",
    "final_*.json": "final states of sites",
    "corrections*": "corrections by a teacher",
}


def write_atif(folder: Path, out_dir: Path, left_out: LeftOut) -> None:
    """One trajectory."""
    trajectory = read_whole(folder)
    target = out_dir / folder.name
    for step in trajectory.steps:
        place(trajectory.screenshot(step.number), target / "images" / f"screenshot{step.number}.png")
    write_json(target / "trajectory.json", to_atif(trajectory), flush=False)
    count_left_out(folder, left_out)


def count_left_out(folder: Path, left_out: LeftOut) -> None:
    """Files of a trajectory that interchange formats have no place for."""
    for pattern, kind in _KINDS.items():
        left_out[kind] += len(list(folder.glob(pattern)))


def to_atif(trajectory: Trajectory) -> dict[str, Any]:
    """The object of `trajectory.json`; its image paths start at its folder."""
    head = header(trajectory)
    steps: list[dict[str, Any]] = []
    if head["system_prompt"]:
        steps.append({"source": "system", "message": head["system_prompt"]})
    shown = [_page(trajectory, index) for index in range(len(trajectory.steps))]
    opening = [{"type": "text", "text": trajectory.ques}]
    steps.append({"source": "user", "message": opening})
    if shown:
        opening += shown[0]["content"]
        steps[-1]["extra"] = shown[0]["extra"]
    for index, step in enumerate(trajectory.steps):
        steps.append(_agent_step(step, shown[index + 1] if index + 1 < len(shown) else None))
    policy = str(trajectory.provenance.get("policy") or trajectory.provenance.get("model") or KEY)
    return {
        "schema_version": "ATIF-v1.7",
        "session_id": trajectory.folder.name,
        "agent": {"name": KEY, "version": "1", "model_name": policy},
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, start=1)],
        "final_metrics": {
            "total_prompt_tokens": sum(step.prompt_tokens for step in trajectory.steps),
            "total_completion_tokens": sum(step.completion_tokens for step in trajectory.steps),
            "total_steps": len(steps),
        },
        "extra": {KEY: head},
    }


def _page(trajectory: Trajectory, index: int) -> dict[str, Any]:
    """What is shown before step `index` (from 0)."""
    step, tree = trajectory.steps[index], trajectory.trees[index]
    read = "\n".join(filter(None, [step.feedback, tree if step.shown is None else step.shown]))
    boxes = trajectory.folder / f"boxes{step.number}.json"
    source = {"media_type": "image/png", "path": f"images/screenshot{step.number}.png"}
    page = {KEY: {"boxes": read_json(boxes)}} if boxes.exists() else {}
    return {
        "content": [{"type": "text", "text": read}, {"type": "image", "source": source}],
        "extra": {"web": {"url": step.url, "axtree": tree, "html": None}, **page},
    }


def _agent_step(step: TrajectoryStep, after: dict[str, Any] | None) -> dict[str, Any]:
    fields: dict[str, Any] = {"source": "agent", "message": step.reply}
    calls = [
        {"tool_call_id": f"call_{step.number}_{n}", "function_name": name, "arguments": arguments}
        for n, (name, arguments) in enumerate(calls_of(step), start=1)
    ]
    fields |= {"tool_calls": calls} if calls else {}
    if after is not None:
        of_call = {"source_call_id": calls[-1]["tool_call_id"]} if calls else {}
        fields["observation"] = {"results": [of_call | after]}
    found = {theirs: getattr(step, ours) for ours, theirs in METRICS.items()}
    if metrics := {name: value for name, value in found.items() if value}:
        fields["metrics"] = metrics
    if own := own_fields(step, _ELSEWHERE):
        fields["extra"] = {KEY: own}
    return fields


def calls_of(step: TrajectoryStep) -> list[tuple[str, dict[str, Any]]]:
    """(name, arguments) of what a reply does: by elements' numbers, or in CSS pixels; none where it could not be
    read."""
    if step.actions is not None:
        return [(one["kind"].lower(), _point_arguments(one)) for one in step.actions]
    try:
        action = parse_reply(step.reply).action
    except ActionError:
        return []
    return [(type(action).__name__.lower(), dataclasses.asdict(action))]


def _point_arguments(record: dict[str, Any]) -> dict[str, Any]:
    points = {"coordinates": record["css"]} if record.get("css") else {}
    return json.loads(json.dumps({**record.get("arguments", {}), **points}))

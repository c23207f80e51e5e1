"""Our trajectories in the Agent Data Protocol's schema 1.5: `trajectories.jsonl`, and `images/` beside it.

Layout: see readers/interchange/adp.py. A step is a web observation and the calls of its reply, the last of which its
observation answers (`tool_call_id`); an answer is a message. What the protocol has no field for stands under
`details.elcano`.
"""

import json
from pathlib import Path
from typing import Any

from common.files import read_json
from data.actions.action import ActionError, parse_reply
from data.trajectory import Trajectory, TrajectoryStep
from toolkits.readers.interchange.own_trajectory import KEY, header, own_fields
from toolkits.readers.reading.left_out import LeftOut
from toolkits.writers.atif import calls_of, count_left_out
from toolkits.writers.files import place, read_whole

_VERSION = "1.5.0"


def write_adp(folder: Path, out_dir: Path, left_out: LeftOut) -> None:
    """One trajectory: a line."""
    trajectory = read_whole(folder)
    for step in trajectory.steps:
        place(trajectory.screenshot(step.number), out_dir / _image_name(trajectory, step))
    with open(out_dir / "trajectories.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(to_adp(trajectory), ensure_ascii=False) + "\n")
    count_left_out(folder, left_out)


def to_adp(trajectory: Trajectory) -> dict[str, Any]:
    """The line; its image paths start at the folder of the export."""
    content: list[dict[str, Any]] = [_text(trajectory.ques)]
    for step, tree in zip(trajectory.steps, trajectory.trees, strict=True):
        shown = [*([_text(step.feedback)] if step.feedback else []), _page(trajectory, step, tree)]
        if content[-1].get("class_") == "api_action":
            content[-1]["tool_call_id"] = shown[0]["tool_call_id"] = f"call_{step.number - 1}"
        content += [*shown, *_actions(step)]
    steps = [_fields(trajectory, step) for step in trajectory.steps]
    details = {"task_description": trajectory.ques, "website": trajectory.web}
    return {
        "schema_version": _VERSION,
        "id": trajectory.folder.name,
        "content": content,
        "details": details | {KEY: {**header(trajectory), "steps": steps}},
    }


def _fields(trajectory: Trajectory, step: TrajectoryStep) -> dict[str, Any]:
    boxes = trajectory.folder / f"boxes{step.number}.json"
    return own_fields(step, ("number", "url")) | ({"boxes": read_json(boxes)} if boxes.exists() else {})


def _text(content: str) -> dict[str, Any]:
    return {"class_": "text_observation", "content": content, "source": "user"}


def _page(trajectory: Trajectory, step: TrajectoryStep, tree: str) -> dict[str, Any]:
    shown = {"class_": "image_observation", "content": _image_name(trajectory, step), "annotations": None}
    page = {"class_": "web_observation", "html": None, "axtree": tree, "url": step.url, "viewport_size": None}
    return page | {"image_observation": {**shown, "source": "environment"}}


def _image_name(trajectory: Trajectory, step: TrajectoryStep) -> str:
    return f"images/{trajectory.folder.name}/screenshot{step.number}.png"


def _actions(step: TrajectoryStep) -> list[dict[str, Any]]:
    try:
        thought = parse_reply(step.reply).thought
    except ActionError:
        thought = ""
    calls = calls_of(step)
    if not calls:
        return [{"class_": "message_action", "content": step.reply, "description": None}]
    actions = []
    for name, arguments in calls:
        if name == "answer":
            actions.append({"class_": "message_action", "content": arguments["content"]})
        else:
            actions.append({"class_": "api_action", "function": name, "kwargs": arguments})
        actions[-1]["description"] = thought or None
    return actions

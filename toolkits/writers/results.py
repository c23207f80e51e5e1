"""Our trajectories as result folders of benchmarks, so that their own judges read them.

    webvoyager         task<ID>/interact_messages.json, screenshot<N>.png
    online_mind2web    <ID>/result.json, trajectory/<N>_screenshot.png

Layouts: MinorJerry/WebVoyager `evaluation/auto_eval.py`, OSU-NLP-Group/Online-Mind2Web `src/run.py` (v1). WebVoyager's
judge looks for `Action: ANSWER; ...` in the last message, so an answer in another action space is said in these words.
Online-Mind2Web's reads what was done from `action_history`: there elements have the words of the page's tree.
"""

import json
import re
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_json, write_json
from data.actions.action import ActionError, parse_reply
from data.trajectory import Trajectory, TrajectoryStep
from toolkits.readers.reading.left_out import LeftOut
from toolkits.writers.atif import calls_of
from toolkits.writers.files import place, read_whole

_ANSWER = "Action: ANSWER"
_NOTHING = "NOTHING, the reply could not be read"
"""So that actions and screenshots stay side by side."""


def write_webvoyager(folder: Path, out_dir: Path, left_out: LeftOut) -> None:
    """One trajectory."""
    trajectory, target = read_whole(folder), out_dir / folder.name
    messages = read_json(folder / "interact_messages.json")
    if not isinstance(messages, list) or len(messages) < 3 or not isinstance(messages[-1], dict):
        raise UserError(f"{folder}: interact_messages.json holds no reply of an agent")
    if trajectory.answer is None:
        left_out["trajectories without an answer, which their judge calls failures"] += 1
    elif _ANSWER not in str(messages[-1].get("content")):
        messages[-1] = {**messages[-1], "content": f"Thought: \n\n{_ANSWER}; {trajectory.answer}"}
    for step in trajectory.steps:
        place(trajectory.screenshot(step.number), target / f"screenshot{step.number}.png")
    write_json(target / "interact_messages.json", messages, flush=False)
    _count(trajectory, left_out)


def write_online_mind2web(folder: Path, out_dir: Path, left_out: LeftOut) -> None:
    """One trajectory; its folder is called by its task's id, and the try where there are several."""
    trajectory, name = read_whole(folder), folder.name.removeprefix("task")
    for step in trajectory.steps:
        place(trajectory.screenshot(step.number), out_dir / name / "trajectory" / f"{step.number - 1}_screenshot.png")
    done, thoughts = [], []
    for step, tree in zip(trajectory.steps, trajectory.trees, strict=True):
        thoughts.append(thought_of(step))
        calls = calls_of(step)
        acts = [_described(call, arguments, tree) for call, arguments in calls if call != "answer"]
        done += ["; ".join(acts)] if acts else [] if calls else [_NOTHING]
    result = {"task_id": name, "task": trajectory.ques, "website": trajectory.web, "thoughts": thoughts}
    result |= {"action_history": done, "final_result_response": trajectory.answer or ""}
    write_json(out_dir / name / "result.json", result, flush=False)
    _count(trajectory, left_out)


def _count(trajectory: Trajectory, left_out: LeftOut) -> None:
    left_out["verdicts"] += trajectory.outcome is not None
    left_out["accessibility trees"] += sum(map(bool, trajectory.trees))
    left_out["token ids of replies"] += sum(bool(step.token_ids) for step in trajectory.steps)


def thought_of(step: TrajectoryStep) -> str:
    """What the agent thought before it acted, in whichever action space."""
    try:
        return parse_reply(step.reply).thought
    except ActionError:
        return re.split(r"<tool_call>|</think>", step.reply.removeprefix("<think>"))[0].strip()


def _described(call: str, arguments: dict[str, Any], tree: str) -> str:
    """`link 'Lamp' -> CLICK`, as their own agents say it; what is no element's, with its arguments."""
    label = arguments.get("label")
    found = re.search(rf"^\s*\[{label}\] (.*)$", tree, re.MULTILINE) if label is not None else None
    rest = {name: value for name, value in arguments.items() if name != "label" and value not in (None, "", [])}
    said = ", ".join(f"{value}" if isinstance(value, str) else json.dumps(value) for value in rest.values())
    element = f"{found[1]} -> " if found else ""
    return f"{element}{call.upper()}{f': {said}' if said else ''}"

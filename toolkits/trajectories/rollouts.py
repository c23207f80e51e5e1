"""Rollouts: whole trajectories as reinforcement learning takes them, solved or not, from our folders or WebRL's.

A folder of ours holds `task<ID>` folders. One of WebRL's (VisualAgentBench's WebArena-Lite) holds `traces/<id>.jsonl`,
a step a line with `target` (the instruction), `prompt`, `html` and `response`, and `actions/<id>.json` with `score`.
"""

import dataclasses
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.conversation import escape_special
from data.outcome import Verdict
from data.samples.reward_model import reward_model_text, reward_model_turn
from data.samples.turn_samples import image_name, samples_of
from data.trajectory import is_complete, list_trajectories, read_trajectory
from toolkits.convert_trajectories_to_json import place_image
from toolkits.readers.logs.webrl_traces import read_trace_lines, score_of_trace
from toolkits.readers.reading.steps import record, sample_id, text_field


@dataclasses.dataclass(frozen=True)
class Rollout:
    """One trajectory. `samples` are records, one a step, oldest first.

    `case` is what a reward model reads of it, with the screenshot `case_image` where there is one, and `p_yes` what it
    said. `success` is None without a verdict. `screenshots` are the samples' newest, as the trajectory holds them.
    """

    task: str
    samples: list[dict[str, Any]]
    case: str
    case_image: Path | None
    answered: bool
    success: bool | None
    p_yes: float | None = None
    screenshots: tuple[Path, ...] = ()


def read_rollouts(folder: Path, image_dir: Path, round_id: int, last_n: int) -> list[Rollout | None]:
    """The rollouts of a folder by name; None for each that proves nothing: unfinished, broken or ended by a fault.

    Screenshots are placed in `image_dir`, once all rollouts are known to differ in their samples' ids.
    """
    if (folder / "traces").is_dir():
        paths = sorted((folder / "traces").glob("*.jsonl"))
        rollouts = [read_trace(path, round_id) for path in paths]
    elif paths := list_trajectories(folder):
        rollouts = [_read_ours(path, image_dir, round_id, last_n) for path in paths]
    else:
        raise UserError(f"{folder}: holds neither trajectory folders (task...) nor WebRL's traces/")
    _check_ids(paths, rollouts)
    for rollout in rollouts:
        if rollout is not None and rollout.screenshots:
            for sample, screenshot in zip(rollout.samples, rollout.screenshots, strict=True):
                place_image(screenshot, image_dir / image_name(sample["id"]))
    return rollouts


def _check_ids(paths: list[Path], rollouts: list[Rollout | None]) -> None:
    """Ids name pictures, and pad numbers: those of the tasks `Shop--1` and `Shop--01` are the same."""
    owners: dict[str, Path] = {}
    for path, rollout in zip(paths, rollouts, strict=True):
        for sample in rollout.samples if rollout is not None else ():
            if (owner := owners.setdefault(sample["id"], path)) is not path:
                raise UserError(
                    f"{path}: gives the sample id {sample['id']}, as {owner.name} does; keep one of the two"
                )


def _read_ours(folder: Path, image_dir: Path, round_id: int, last_n: int) -> Rollout | None:
    if not is_complete(folder):
        return None
    try:
        trajectory = read_trajectory(folder)
    except Exception:  # a folder from anywhere can be broken in any way, and must not stop the others
        return None
    outcome = trajectory.outcome
    if outcome and outcome.verdict is Verdict.INVALID and outcome.judge:
        outcome = None  # the judge failed, not the trajectory
    if (outcome is not None and outcome.verdict.solved is None) or not trajectory.steps:
        return None
    samples, screenshots = zip(*samples_of(trajectory, round_id, last_n), strict=True)
    return Rollout(
        task=trajectory.ques,
        samples=list(samples),
        case=reward_model_turn(trajectory.ques, trajectory).text,
        case_image=image_dir / image_name(samples[-1]["id"]),
        answered=trajectory.finished,
        success=outcome.verdict.solved if outcome else None,
        screenshots=screenshots,
    )


def read_trace(path: Path, round_id: int) -> Rollout | None:
    """One of WebRL's traces. A step's earlier rounds show their short `prompt`, the newest its whole `html`."""
    steps = read_trace_lines(path)
    if not steps:
        return None
    fields = [
        {name: text_field(f"{path}: step {number}", step, name) for name in ("target", "prompt", "html", "response")}
        for number, step in enumerate(steps, start=1)
    ]
    task, replies = fields[0]["target"], [step["response"] for step in fields]
    samples = []
    for count in range(1, len(fields) + 1):
        turns = [text for index, step in enumerate(fields[: count - 1]) for text in _round(task, index, step, "prompt")]
        turns += _round(task, count - 1, fields[count - 1], "html")
        samples.append(record(sample_id("webrl", _number(path), round_id, count), [], turns, {}))
    case = reward_model_text(task, replies, fields[-1]["html"], with_image=False)
    return Rollout(task, samples, case, None, answered=True, success=score_of_trace(path))


def _round(task: str, number: int, step: dict[str, str], shown: str) -> tuple[str, str]:
    """User's and agent's turn of a round, as `readers/logs/webrl.py` makes them of WebRL's own prompts."""
    opening = f"Task Instruction: {task}\n\n" if number == 0 else ""
    return escape_special(f"{opening}Round {number}\n\n{step[shown].strip()}"), escape_special(step["response"])


def _number(path: Path) -> int:
    if not path.stem.isdigit():
        raise UserError(f"{path}: WebRL's traces are named by the task's number, such as 21.jsonl")
    return int(path.stem)

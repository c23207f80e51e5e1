"""Trajectories with what is thought of them: values, Q and advantages of each step beside its screenshot, for people.

    python toolkits/make_traces.py --result_dir runs/1/trajectories --round_id 1 \\
        --column_files runs/1/values.parquet runs/1/digiq.parquet --output_dir runs/1/traces

    python toolkits/make_traces.py --result_dir results --tasks Shop-price-test--000 --output_dir pictures

For each trajectory that the columns tell something of, without columns for all, or those of --tasks:

    <name>.json    trajectory, task, outcome and its reason, steps: number, url, screenshot (its path from here), reply,
                   action, columns {name: number}, candidates [{reply, action, columns}] where these were drawn
    <name>.png     a contact sheet: the screenshots in order, under each the action and its numbers, and the candidate
                   that is learned in its place

A trajectory without a step, which a fault ended before the first, has neither; it is told and passed over.
"""

import dataclasses
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import cli
from common.errors import UserError
from common.files import make_folder, write_atomic, write_json
from data.actions.action import action_text
from data.samples.turn_samples import sample_id
from data.shards.columns import ID, read_rows
from data.trajectory import Trajectory, is_complete, list_trajectories, read_trajectory, split_folder_name
from toolkits.trajectories.contact_sheet import contact_sheet

Rows = dict[str, dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Config:
    """Show trajectories with what is thought of them."""

    result_dir: Path
    """Folder of trajectory folders (`task...`)."""
    output_dir: Path
    """Where traces go."""
    column_files: tuple[Path, ...] = ()
    """Parquet files of columns of their samples."""
    tasks: tuple[str, ...] = ()
    """Only the trajectories of the tasks with these ids."""
    round_id: int = 1
    """That of the samples, as in convert_trajectories_to_json.py."""


def main(config: Config) -> None:
    """Write a JSON file and a picture of each trajectory."""
    rows = _joined(config.column_files)
    make_folder(config.output_dir, "--output_dir")
    folders = [folder for folder in list_trajectories(config.result_dir) if is_complete(folder)]
    if config.tasks:
        folders = [folder for folder in folders if split_folder_name(folder.name)[0] in config.tasks]
    if not folders:
        raise UserError(f"{config.result_dir}: holds no complete trajectory of {', '.join(config.tasks) or 'any task'}")
    count, with_steps = 0, []
    for folder in folders:
        trajectory = read_trajectory(folder)
        if not trajectory.steps:
            print(f"{folder.name}: has no step, so no trace ({trajectory.reason or trajectory.status})")
            continue
        with_steps.append(sample_id(trajectory, config.round_id, 1))
        made = trace(trajectory, config.round_id, rows, config.output_dir)
        if not rows or any(step["columns"] for step in made["steps"]):
            count += 1
            write_json(config.output_dir / f"{folder.name}.json", made)
            screenshots = [trajectory.screenshot(step.number) for step in trajectory.steps]
            write_atomic(config.output_dir / f"{folder.name}.png", contact_sheet(made, screenshots), flush=False)
    if with_steps and not count:
        some = with_steps[-1]
        raise UserError(f"{config.result_dir}: no file of columns has a row for {some}; give the samples' --round_id")
    print(f"{config.output_dir}: traces of {count} of {len(folders)} trajectories")


def trace(trajectory: Trajectory, round_id: int, rows: Rows, beside: Path) -> dict[str, Any]:
    """What stands in its JSON file, which lies in the folder `beside`."""
    steps = []
    for step in trajectory.steps:
        key = sample_id(trajectory, round_id, step.number)
        own = rows.get(key, {})
        others = enumerate(_texts(own.get("candidates")), 1)
        steps.append(
            {
                "number": step.number,
                "url": step.url,
                "screenshot": os.path.relpath(trajectory.screenshot(step.number), beside),
                "reply": step.reply,
                "action": action_text(step.reply),
                "columns": _numbers(own),
                "candidates": [
                    {"reply": text, "action": action_text(text), "columns": _numbers(rows.get(f"{key}--c{number}", {}))}
                    for number, text in others
                ],
            }
        )
    outcome, reason = (judged.verdict.value, judged.reason) if (judged := trajectory.outcome) else (None, "")
    told = {"trajectory": trajectory.folder.name, "task": trajectory.ques, "outcome": outcome, "reason": reason}
    return {**told, "steps": steps}


def _joined(paths: Sequence[Path]) -> Rows:
    """By sample, what all files say."""
    rows: Rows = {}
    for path in paths:
        for row in read_rows(path):
            rows.setdefault(row[ID], {}).update(row)
    return rows


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _numbers(row: dict[str, Any]) -> dict[str, float]:
    return {name: value for name, value in row.items() if isinstance(value, int | float) and math.isfinite(value)}


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)

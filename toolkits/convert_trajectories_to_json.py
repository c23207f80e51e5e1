"""Turn judged trajectories into training samples: one sample per step, as OpenWebVoyager's training JSON.

    python toolkits/convert_trajectories_to_json.py --result_dir results/train --image_dir data/images/il \
        --save_json_file data/json/il.json --round_id 1 --only_success

A sample is {"id", "images": [names in image_dir], "conversations": [{"from": "human" | "gpt", "value"}]}. Kept are the
trajectories in which the agent answered, with `--only_success` those the judge called a success; never those that a
fault made invalid. Folders that are broken or unfinished are counted and passed over.

Names: `task<head>--<n>` gives `<head>--<n as 5 digits>--r<round>--step<step>`, as in the released data; an
exploration's `task<head>--<n>--run<k>` gives `<head>--<n as 5 digits>--run<k>--r<round>--step<step>`.
"""

import collections
import dataclasses
import json
import os
import shutil
from pathlib import Path
from typing import Any

import rich
from PIL import Image
from rich.table import Table

from data import cli
from data.conversation import build_conversation
from data.errors import UserError
from data.files import write_atomic
from data.outcome import Verdict
from data.trajectory import Trajectory, is_complete, list_trajectories, read_trajectory

_SENDERS = {"user": "human", "assistant": "gpt"}


@dataclasses.dataclass(frozen=True)
class Config:
    """Turn judged trajectories into training samples."""

    result_dir: str
    """Folder of trajectory folders (`task...`), as collection/run.py or exploration_feedback.py leave it."""
    image_dir: str
    """Where the samples' screenshots go (hard links where the disk allows)."""
    save_json_file: str
    """The JSON file to write."""
    round_id: int = 1
    """Written into the sample ids, so that samples of several rounds can be mixed."""
    last_n: int = 3
    """Screenshots shown at each step; the collector's `--max_attached_imgs`."""
    only_success: bool = False
    """Keep only trajectories judged a success."""


def main(config: Config) -> None:
    """Convert, then print what happened to each folder."""
    folders = list_trajectories(config.result_dir)
    if not folders:
        raise UserError(f"{config.result_dir}: holds no trajectory folder (task...)")
    Path(config.image_dir).mkdir(parents=True, exist_ok=True)
    samples: dict[str, dict[str, Any]] = {}
    counts: collections.Counter[str] = collections.Counter()
    for folder in folders:
        fate, trajectory, why = sort_out(folder, config.only_success)
        counts[fate] += 1
        if why:
            print(f"{fate} {folder.name}: {why}")
        if trajectory is None:
            continue
        for sample, screenshot in samples_of(trajectory, config.round_id, config.last_n):
            if sample["id"] in samples:
                raise UserError(f"{folder}: another trajectory gives the sample id {sample['id']} too")
            samples[sample["id"]] = sample
            place_image(screenshot, Path(config.image_dir) / image_name(sample["id"]))
    write_atomic(Path(config.save_json_file), json.dumps([samples[key] for key in sorted(samples)], indent=2))
    _print_table(config, len(folders), counts, len(samples))


def sort_out(folder: Path, only_success: bool) -> tuple[str, Trajectory | None, str]:
    """(fate, the trajectory if it is to be kept, why it could not be read)."""
    if not is_complete(folder):
        return "unfinished", None, ""
    try:
        trajectory = read_trajectory(folder)
        for step in trajectory.steps:
            with Image.open(trajectory.screenshot(step.number)) as image:
                image.verify()
    except Exception as error:  # a folder from anywhere can be broken in any way, and must not stop the others
        return "broken", None, " ".join(str(error).split()) or type(error).__name__
    verdict = trajectory.outcome.verdict if trajectory.outcome else None
    if verdict is Verdict.INVALID:
        return "invalid", None, ""
    if not trajectory.finished or not trajectory.steps:
        return "unfinished", None, ""
    if only_success and verdict is None:
        return "unjudged", None, ""
    if only_success and verdict is not Verdict.SUCCESS:
        return "failed", None, ""
    return "kept", trajectory, ""


def samples_of(trajectory: Trajectory, round_id: int, last_n: int) -> list[tuple[dict[str, Any], Path]]:
    """One (sample, its newest screenshot) per step, oldest first."""
    steps = trajectory.texts()
    ids = [sample_id(trajectory, round_id, step.number) for step in trajectory.steps]
    pairs = []
    for count, step in enumerate(trajectory.steps, start=1):
        conversation = build_conversation(trajectory.ques, steps[:count], last_n)
        sample = {
            "id": ids[count - 1],
            "images": [image_name(ids[number - 1]) for number in conversation.image_steps],
            "conversations": [{"from": _SENDERS[turn.role], "value": turn.text} for turn in conversation.turns],
        }
        pairs.append((sample, trajectory.screenshot(step.number)))
    return pairs


def sample_id(trajectory: Trajectory, round_id: int, step: int) -> str:
    """The id of one step's sample; see the naming rule above."""
    separator = "--" if "--" in trajectory.task_id else "_"
    head, found, number = trajectory.task_id.rpartition(separator)
    name = f"{head}{found}{number.zfill(5)}" if found else trajectory.task_id
    run = "" if trajectory.run is None else f"--run{trajectory.run}"
    return f"{name}{run}--r{round_id:02d}--step{step:02d}"


def image_name(identifier: str) -> str:
    """The file name of a sample's newest screenshot."""
    return f"{identifier}.png"


def place_image(source: Path, target: Path) -> None:
    """Hard-link or copy `source` to `target`, replacing it in one move."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists() and target.samefile(source):
        return
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    try:
        os.link(source, temporary)
    except OSError:  # another file system, or one without hard links
        shutil.copyfile(source, temporary)
    temporary.replace(target)


def _print_table(config: Config, num_read: int, counts: collections.Counter[str], num_samples: int) -> None:
    fates = ["kept", "unfinished", "failed", "unjudged", "invalid", "broken"]
    table = Table("read", *fates, "samples")
    table.add_row(str(num_read), *(str(counts[fate]) for fate in fates), str(num_samples))
    rich.print(table)
    print(config.save_json_file)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)

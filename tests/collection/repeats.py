"""Runs the embedded test tasks twice with one seed and compares the trajectories field by field, timings left out.

    python -m tests.collection.repeats                      75 tasks in 4 sessions, sampled at temperature 1
    python -m tests.collection.repeats --exact              one request after the other: log-probabilities too

Prints what differs; ends with 1 when it is more than docs/howto/fleet.md says.
"""

import argparse
import dataclasses
import math
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageChops

from common.defaults import STARTING_POLICY
from common.processes import served
from data.task import read_tasks, write_tasks
from data.trajectory import Trajectory, TrajectoryStep, list_trajectories, read_trajectory
from tests.conftest import ROOT

TASKS = ROOT / "data/tasks/test.jsonl"
EXACT_SERVER = ("--max_batch_size", "1", "--no_read_ahead", "--max_draft_tokens", "0")
MAX_LOGPROB_ERROR = 1e-3
CARET_PX = 2
_TIMED = {"timings_s", "logprobs"}


@dataclasses.dataclass(frozen=True)
class Difference:
    """What differs at the first step of a trajectory that differs."""

    folder: str
    step: int
    fields: tuple[str, ...]


def collect_twice(folder: Path, num_tasks: int, num_sessions: int, is_exact: bool) -> tuple[Path, Path]:
    """The results of two runs, each against a real server of its own: one that knows a prompt's beginning from the run
    before would compute the rest in other pieces."""
    file = folder / "tasks.jsonl"
    write_tasks(file, read_tasks(TASKS)[:: max(1, 75 // num_tasks)][:num_tasks])
    flags = ["--test_file", file, "--headless", "--seed", 7, "--temperature", 1.0]
    flags += ["--num_sessions", 1 if is_exact else num_sessions]
    server_flags = ["--port", "0", *(EXACT_SERVER if is_exact else ())]
    with served("environments.sites") as port:
        for name in ("a", "b"):
            _collect([*flags, "--sites_port", port, "--output_dir", folder / name], server_flags)
    return folder / "a", folder / "b"


def _collect(flags: Sequence[object], server_flags: Sequence[str]) -> None:
    command = [sys.executable, "server/hf_online_server.py", "--model_name_or_path", str(STARTING_POLICY)]
    with subprocess.Popen([*command, *server_flags], cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().strip().rpartition(" on ")[2]
            run = [sys.executable, "collection/run.py", *map(str, flags), "--api_localhost", f"{url}/predict"]
            subprocess.run(run, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        finally:
            server.terminate()


def compare(one: Path, other: Path, is_exact: bool) -> list[Difference]:
    """Every trajectory that differs by more than a caret and what it does to log-probabilities, or than rounding."""
    names = [folder.name for folder in list_trajectories(one)]
    assert names == [folder.name for folder in list_trajectories(other)]
    found = (_first(read_trajectory(one / name), read_trajectory(other / name), is_exact) for name in names)
    return [difference for difference in found if difference is not None]


def _first(one: Trajectory, other: Trajectory, is_exact: bool) -> Difference | None:
    limit = 0.0 if is_exact else MAX_LOGPROB_ERROR
    for index, (step, twin) in enumerate(zip(one.steps, other.steps, strict=False)):
        if one.screenshot(step.number).read_bytes() != other.screenshot(step.number).read_bytes():
            limit = math.inf  # a caret, if nothing else: the model saw another picture from here on
        fields = _differing_fields(step, twin, limit)
        if one.trees[index] != other.trees[index]:
            fields.append("tree")
        if not same_picture(one.screenshot(step.number), other.screenshot(step.number)):
            fields.append("screenshot")
        if fields:
            return Difference(one.folder.name, step.number, tuple(fields))
    summaries = [(len(each.steps), each.status, each.answer, each.outcome, each.provenance) for each in (one, other)]
    return None if summaries[0] == summaries[1] else Difference(one.folder.name, 0, ("summary",))


def _differing_fields(step: TrajectoryStep, twin: TrajectoryStep, limit: float) -> list[str]:
    names = [field.name for field in dataclasses.fields(TrajectoryStep) if field.name not in _TIMED]
    fields = [name for name in names if getattr(step, name) != getattr(twin, name)]
    pairs = zip(step.logprobs or [], twin.logprobs or [], strict=False)
    return [*fields, "logprobs"] if any(abs(first - second) > limit for first, second in pairs) else fields


def same_picture(one: Path, other: Path) -> bool:
    """Whether two screenshots are the same but for the blinking caret of a text field."""
    if one.read_bytes() == other.read_bytes():
        return True
    with Image.open(one) as first, Image.open(other) as second:
        box = ImageChops.difference(first.convert("RGB"), second.convert("RGB")).getbbox()
    return box is None or box[2] - box[0] <= CARET_PX


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num_tasks", type=int, default=75)
    parser.add_argument("--num_sessions", type=int, default=4)
    parser.add_argument("--exact", action="store_true")
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="elcano-repeats-"))
    try:
        results = collect_twice(folder, options.num_tasks, options.num_sessions, options.exact)
        differences = compare(*results, options.exact)
        count = len(list_trajectories(results[0]))
    finally:
        shutil.rmtree(folder)
    print(f"{count - len(differences)} of {count} trajectories repeated", *differences, sep="\n")
    return bool(differences)


if __name__ == "__main__":
    sys.exit(main())

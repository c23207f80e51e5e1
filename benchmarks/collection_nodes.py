"""What `--ray_address` costs a collection on one machine: steps/s against the plain collector's, in turns.

    python -m benchmarks.collection_nodes --output docs/collection_nodes.json

Both take the same embedded tasks with the embedded teacher, which answers at once, so browsers are what bounds them.
Counted are the steps of trajectories that were complete between a tenth and nine tenths of the tasks: neither Ray's
start nor the browsers', nor the last sessions, which have no neighbours. Trajectories are sent to the output folder.
"""

import dataclasses
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import cli
from common.defaults import ROOT
from common.files import write_json
from common.processes import die_with_parent, served
from data.task import read_tasks, write_tasks
from data.trajectory import list_trajectories, read_trajectory

SIDES = {"plain": (), "ray": ("--ray_address", "local")}


@dataclasses.dataclass(frozen=True)
class Config:
    """Compare a collection through Ray with a plain one."""

    repeats: int = 3
    """Turns of each."""
    num_tasks: int = 150
    """Embedded test tasks of a turn."""
    num_sessions: int = 16
    """Of each."""
    output: str = ""
    """A JSON file for the numbers."""


def main(config: Config) -> None:
    """A line a turn, and the ratio of the pairs."""
    found: dict[str, list[float]] = {side: [] for side in SIDES}
    with (
        tempfile.TemporaryDirectory() as folder,
        served("environments.sites") as sites,
        served("environments.sites.expert.server") as teacher,
    ):
        tasks = [task for name in ("test", "test-2") for task in read_tasks(ROOT / "data" / "tasks" / f"{name}.jsonl")]
        write_tasks(Path(folder) / "tasks.jsonl", tasks[: config.num_tasks])
        for turn in range(config.repeats):
            for side in list(SIDES) if turn % 2 == 0 else list(reversed(SIDES)):
                found[side].append(steps_per_s(Path(folder), sites, teacher, side, config))
                print(f"{side}: {found[side][-1]:.2f} steps/s", flush=True)
    ratios = [through / plain for through, plain in zip(found["ray"], found["plain"], strict=True)]
    print(f"ray / plain: {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")
    if config.output:
        write_json(Path(config.output), {"steps_per_s": found, "ratios": ratios})


def steps_per_s(folder: Path, sites: int, teacher: int, side: str, config: Config) -> float:
    """Of one collection, with the ports of websites and teacher."""
    results = folder / "results"
    words = ["--test_file", folder / "tasks.jsonl", "--sites_port", sites, "--output_dir", results, *SIDES[side]]
    words += ["--api_base", f"http://127.0.0.1:{teacher}/v1", "--judge", "oracle", "--max_iter", 15, "--headless"]
    words += ["--num_sessions", config.num_sessions]
    ended: dict[str, float] = {}
    process = subprocess.Popen(
        [sys.executable, "collection/run.py", *map(str, words)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=die_with_parent,
    )
    for line in process.stdout:
        if told := re.match(r"(\S+): ", line):
            ended[told[1]] = time.monotonic()
    if process.wait():
        sys.exit(process.returncode)
    steps = {path.name: len(read_trajectory(path).steps) for path in list_trajectories(results)}
    shutil.rmtree(results)
    order = [name for name in ended if name in steps]
    first, last = len(order) // 10, len(order) - len(order) // 10 - 1
    return sum(steps[name] for name in order[first + 1 : last + 1]) / (ended[order[last]] - ended[order[first]])


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)

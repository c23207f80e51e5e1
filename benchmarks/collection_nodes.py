"""What `--ray_address` costs a collection on one machine: steps/s against the plain collector's, in turns.

    python -m benchmarks.collection_nodes --output docs/results/collection_nodes.json

Both take the same embedded tasks with the embedded teacher, which answers at once, so browsers are what bounds them.
Counted are the steps of trajectories that were complete between a tenth and nine tenths of the tasks: neither Ray's
start nor the browsers', nor the last sessions, which have no neighbours. Beside that, how fast trajectories come from
an actor that does nothing but send one, to as many sessions' folders at once, in the pieces that nodes send.
"""

import asyncio
import dataclasses
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.piece_sender import PieceSender
from collection.nodes.pieces import AHEAD, write
from common import cli
from common.defaults import ROOT
from common.files import write_json
from common.processes import die_with_parent, served
from common.ray_cluster.settings import prepare
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
    num_streams: int = 48
    """Sessions that receive at once."""
    stream_s: float = 20
    """For so long, in each turn."""
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
    rates = streamed(config)
    print(f"streamed: {statistics.median(rates):.1f} MB/s ({min(rates):.1f} to {max(rates):.1f})")
    if config.output:
        write_json(Path(config.output), {"steps_per_s": found, "ratios": ratios, "streamed_mb_per_s": rates})


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


def streamed(config: Config) -> list[float]:
    """MB/s of each turn."""
    prepare("local", "the benchmark")
    import ray

    from common.ray_cluster import cluster

    cluster.join("local", "the benchmark")
    rates = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "trajectory"
        folder.mkdir()
        for number, image in enumerate(sorted((ROOT / "docs" / "howto").glob("viewer_*.png")), start=1):
            shutil.copy(image, folder / f"screenshot{number}.png")
        size_mb = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        sender = ray.remote(PieceSender).options(num_cpus=0, max_concurrency=config.num_streams).remote()
        for _ in range(config.repeats):
            begun = time.monotonic()
            received = asyncio.run(_receive(sender, folder, Path(name), config))
            rates.append(received * size_mb / (time.monotonic() - begun))
    return rates


async def _receive(sender: Any, folder: Path, target: Path, config: Config) -> int:
    """How many trajectories came."""
    until = time.monotonic() + config.stream_s

    async def receive(number: int) -> int:
        count = 0
        while time.monotonic() < until:
            call = sender.send.options(num_returns="streaming", _generator_backpressure_num_objects=AHEAD)
            async for reference in call.remote(folder):
                await asyncio.to_thread(write, target / str(number), await reference)
            shutil.rmtree(target / str(number))
            count += 1
        return count

    return sum(await asyncio.gather(*map(receive, range(config.num_streams))))


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)

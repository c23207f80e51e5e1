"""Three namespaces that collect for an hour: is the driver's memory flat, and do sessions wait for trajectories to
be sent?

    python -m tests.collection.nodes.node_endurance --minutes 60      as root; Ray installed

The machines are node_chaos's, and nothing is done to them. While a trajectory is sent its session takes no other; the
share of the sessions' time that this takes is told, of the nodes that are not the driver's own. At the end the command
is interrupted as by Ctrl-C, and what is complete is counted.
"""

import contextlib
import dataclasses
import shutil
import signal
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import psutil
from rich.console import Console

from common import cli
from common.files import write_json
from common.options.limits import Checked, above, at_least
from data.task import Task, read_tasks, write_tasks
from data.trajectory import is_complete, list_trajectories, read_trajectory
from tests.collection.nodes.node_chaos import NODES, Machines, Run, begin_machines, ray_flags
from tests.conftest import ROOT
from tests.namespaces import hosts

SAMPLE_S = 10.0
_MOST_TASKS = 40_000
_ENDS_S = 120.0
_OF_THE_JUDGE = ("eval_res.json", "outcome.json")  # written when all of it is there


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Collect over three namespaces for long."""

    minutes: Annotated[float, above(0)] = 60.0
    """For so long."""
    num_sessions: Annotated[int, at_least(1)] = 16
    """Sessions of each node."""
    output: Path = Path("node_endurance.json")
    """A JSON file for the numbers."""


@dataclasses.dataclass
class Sample:
    """Memory of the driver and of all that runs on the nodes (PSS), and trajectories that are complete."""

    second: float
    driver_mb: float
    nodes_mb: float
    trajectories: int


def main(config: Config) -> int:
    """Report; exit code 1 when a trajectory is there twice, or was not solved, or something stays behind."""
    folder = Path(tempfile.mkdtemp(prefix="ns-"))  # Ray's sockets have long names
    try:
        with hosts(len(NODES)) as made:
            machines = Machines(folder, made)
            write_tasks(folder / "tasks.jsonl", list(_endless()))
            begin_machines(machines)
            run = Run(machines, folder, "results", *ray_flags(machines, config.num_sessions))
            samples = list(_watch(run, machines, config.minutes * 60))
            run.process.send_signal(signal.SIGINT)
            run.process.wait(_ENDS_S)
            report = _report(run, samples, config.num_sessions)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    write_json(config.output, report | {"samples": [vars(sample) for sample in samples]})
    Console().print(report)
    return bool(report["wrong"])


def _endless() -> Iterator[Task]:
    """The embedded test tasks, again and again under other ids."""
    tasks = [task for name in ("test", "test-2") for task in read_tasks(ROOT / "data" / "tasks" / f"{name}.jsonl")]
    for number in range(_MOST_TASKS):
        again, index = divmod(number, len(tasks))
        yield dataclasses.replace(tasks[index], id=f"{tasks[index].id}-again-{again}")


def _watch(run: Run, machines: Machines, seconds: float) -> Iterator[Sample]:
    driver = psutil.Process(run.process.pid)
    while not all(run.joined(node) for node in NODES):
        time.sleep(1)
    begun = time.monotonic()
    while (second := time.monotonic() - begun) < seconds and run.process.poll() is None:
        memory = sum(map(_pss_mb, (process for node in NODES for process in machines.processes(node))))
        yield Sample(round(second), driver.memory_full_info().pss / 1e6, memory, run.complete())
        time.sleep(SAMPLE_S)


def _pss_mb(process: psutil.Process) -> float:
    with contextlib.suppress(psutil.Error):
        return process.memory_full_info().pss / 1e6
    return 0.0


def _report(run: Run, samples: list[Sample], num_sessions: int) -> dict[str, Any]:
    folders = [folder for folder in list_trajectories(run.results) if is_complete(folder)]
    taken = [read_trajectory(folder) for folder in folders]
    wrong = [folder.name for folder, found in zip(folders, taken, strict=True) if not found.outcome.success]
    wrong += run.taken_twice()
    seconds = samples[-1].second
    size_mb = sum(path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file()) / 1e6
    sending = list(filter(None, map(_sending_s, folders)))
    quarters = [samples[len(samples) * k // 4 : len(samples) * (k + 1) // 4] for k in range(4)]
    return {
        "minutes": round(seconds / 60, 1),
        "trajectories": len(folders),
        "solved": sum(found.outcome.success for found in taken),
        "steps_per_s": round(sum(len(found.steps) for found in taken) / seconds, 2),
        "mb_per_s": round(size_mb / seconds, 2),
        "sending_s": {"mean": round(statistics.mean(sending), 3), "most": round(max(sending), 2)},
        "sent": len(sending),
        "share_of_sessions_time_sending": round(sum(sending) / (seconds * num_sessions * (len(NODES) - 1)), 4),
        "driver_mb_by_quarter": [round(statistics.median(one.driver_mb for one in part)) for part in quarters],
        "nodes_mb_by_quarter": [round(statistics.median(one.nodes_mb for one in part)) for part in quarters],
        "driver_mb_most": round(max(one.driver_mb for one in samples)),
        "exit_code": run.process.returncode,
        "wrong": wrong,
    }


def _sending_s(folder: Path) -> float | None:
    """Between a trajectory's first piece and its last, as they arrived, in the order of the files' names; None where
    the driver's own node wrote it, step by step."""
    sent = sorted(path for path in folder.iterdir() if path.name not in _OF_THE_JUDGE)
    times = [path.stat().st_mtime for path in sent]
    return times[-1] - times[0] if times == sorted(times) else None


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)

"""A disk that fills up while trajectories are collected or judged: one line, with the folder and what is kept."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from collection.campaign.taking import Taker, Try
from collection.config.commands import RunConfig
from collection.evaluation.auto_eval import judge_all, tasks_in
from common.errors import UserError
from common.full_disk import FullDiskError
from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import is_complete, list_trajectories, read_outcome, read_trajectory
from tests.collection.collector import Collector, task
from tests.small_disk import fill, small_disk
from tests.toolkits.trajectories import screenshot, write_trajectory

SIZES = [300, pytest.param(20_000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("num_kilobytes", SIZES)
def test_a_full_disk_is_one_line_with_the_folder_and_what_is_kept(
    collector: Collector, url: str, tmp_path: Path, num_kilobytes: int
) -> None:
    script = f"{'Click {Next page} | GoBack | ' * 3}ANSWER; the second page"
    num_tasks = 4 if num_kilobytes < 1000 else 120
    with small_disk(tmp_path / "disk", num_kilobytes) as disk:
        tasks = [task(number, f"{url}/", script) for number in range(num_tasks)]
        done = collector.run(tasks, api_localhost=f"{url}/predict", output_dir=disk / "out", max_iter=10)
        kept = sum(map(is_complete, list_trajectories(disk / "out")))
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    [line] = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert f"{disk / 'out'}: no space left on device; {kept} complete trajectories are kept" in line
    assert kept > 5 or num_kilobytes < 1000


class Pages:
    """An environment of one page."""

    dead_host, provenance = None, {}


@pytest.mark.parametrize("room", range(0, 120, 4))
def test_the_disk_may_fill_up_at_any_write(
    tmp_path: Path, room: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """A trajectory of three steps takes about thirty blocks; each of its files may be the last that has room."""
    monkeypatch.setattr("collection.campaign.taking.run_episode", episode)
    with small_disk(tmp_path / "disk", 1000) as disk:
        fill(disk, room)
        taker = Taker(RunConfig(), 5, SimpleNamespace(name="p", system_prompt="s"), opened, Pace(), 1)
        folder = disk / "taskA"
        try:
            asyncio.run(taker.take(0, Try(Task("A", "q", "http://a.example/")), folder, tmp_path))
        except FullDiskError as error:
            assert "no space left on device" in str(error) and not is_complete(folder)
        else:
            assert len(read_trajectory(folder).steps) == 3


async def episode(environment: Any, policy: Any, of: Task, writer: Any, limits: Any, seed: Any) -> None:
    from data.trajectory import FINISHED, TrajectoryStep

    for number in range(1, 4):
        writer.write_observation(number, "tree" * 2000, {}, screenshot(number) + bytes(9000), {1: [0, 0, 1, 1]})
        writer.add_step(TrajectoryStep(number, of.web, "Thought: x\n\nAction: Wait" * 100), "tree")
    writer.finish(FINISHED, "x")


@contextlib.asynccontextmanager
async def _page() -> AsyncIterator[Pages]:
    yield Pages()


async def opened(session: int, downloads: Path) -> Any:
    return _page()


class Pace:
    @contextlib.asynccontextmanager
    async def seat(self) -> AsyncIterator[None]:
        yield

    async def turn(self, site: str) -> None:
        return None


def test_verdicts_that_have_no_room_are_one_line_and_the_others_are_kept(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 2000) as disk:
        results = disk / "results"
        for number in range(6):
            write_trajectory(results, f"A--{number}", verdict=None)
        fill(disk, 12)
        with pytest.raises(UserError, match=r"results: no space left on device; the verdicts so far are kept"):
            judge_all(results, tasks_in(results), lambda *_: Outcome(Verdict.SUCCESS, judge="j"))
        outcomes = [read_outcome(folder) for folder in list_trajectories(results)]
        assert None in outcomes and any(outcome and outcome.success for outcome in outcomes)


def test_a_verdict_that_is_paid_for_and_not_kept_stops_the_judge(tmp_path: Path) -> None:
    """It is no fault of the judge's, after which the next would be paid for."""
    write_trajectory(tmp_path / "results", "A--1", verdict=None)

    def judge(of: Task, folder: Path) -> Outcome:
        raise OSError(28, "No space left on device", "/cache/x.json")

    with pytest.raises(UserError, match="no space left on device; the verdicts so far are kept"):
        judge_all(tmp_path / "results", tasks_in(tmp_path / "results"), judge)
    assert read_outcome(tmp_path / "results" / "taskA--1") is None

"""Collectors that die and nodes that reach no website, as stand-ins, without Ray: what the others make of it."""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

from collection.campaign.campaign import MAX_LOSSES, Campaign
from collection.campaign.lease import leases
from collection.campaign.pacing import Pace
from collection.campaign.progress import CampaignProgress
from collection.campaign.schedule import Schedule
from collection.campaign.taking import MAX_FAULTS, Collector, LostError, NeverTakenError, Taken, Try
from collection.config.commands import RunConfig
from collection.nodes.pieces import BATCH_BYTES, batches
from collection.nodes.reach import Reach
from common.files import read_json
from data.task import Task
from data.trajectory import FINISHED
from data.trajectory_writer import TrajectoryWriter


class Dying:
    """Takes all tasks but `deadly`, of which it dies; then it is gone."""

    num_sessions = 1

    def __init__(self, given: Counter[str], deadly: str) -> None:
        self.given, self.deadly, self.is_gone = given, deadly, False

    async def take(self, session: int, wanted: Try, folder: Path, downloads: Path) -> Taken:
        await asyncio.sleep(0)
        if self.is_gone:
            raise NeverTakenError
        self.given[wanted.task.id] += 1
        if wanted.task.id == self.deadly:
            self.is_gone = True
            raise LostError
        TrajectoryWriter(folder, wanted.task, {}, "", wanted.run).finish(FINISHED, "done")
        return Taken("0 steps", 0)


def test_a_task_of_which_collectors_die_ends_as_invalid_and_all_others_are_taken(tmp_path: Path) -> None:
    given: Counter[str] = Counter()
    tasks = [Task(f"t{number}", "", f"http://{number}.example/") for number in range(6)]

    async def join(add: Callable[[Collector], None]) -> None:
        while True:
            add(Dying(given, "t2"))
            await asyncio.sleep(0.01)

    async def run() -> None:
        config, world = RunConfig(output_dir=tmp_path), SimpleNamespace(restore=None)
        with leases(tmp_path) as held:
            schedule, progress = Schedule(tasks, held), CampaignProgress(len(tasks), Pace(1))
            await asyncio.wait_for(
                Campaign(config, tmp_path / "downloads", world, schedule, [None], None, join, progress).run(), 30
            )

    asyncio.run(run())
    assert given == {**dict.fromkeys((task.id for task in tasks), 1), "t2": MAX_LOSSES}
    ends = {task.id: read_json(tmp_path / f"task{task.id}" / "trajectory.json")["status"] for task in tasks}
    assert ends == {**dict.fromkeys(ends, FINISHED), "t2": "invalid"}


def test_a_node_is_left_out_that_fails_where_others_open_pages_meanwhile() -> None:
    reach = Reach()
    reach.opened("good", "a.example")
    assert not any(reach.failed("bad", "a.example") for _ in range(3 * MAX_FAULTS))  # perhaps it is down by now
    reach.opened("good", "a.example")
    assert reach.failed("bad", "a.example")
    reach.opened("bad", "a.example")
    assert not reach.failed("bad", "a.example")


def test_a_download_that_chromium_deletes_meanwhile_is_left_out(tmp_path: Path) -> None:
    for name in ("a.zip", "b.crdownload", "c.zip"):
        (tmp_path / name).write_bytes(b"x" * 2 * BATCH_BYTES)
    sent = batches(tmp_path)
    first = next(sent)
    (tmp_path / "b.crdownload").unlink()
    names = [name for batch in [first, *sent] for name, *_ in batch]
    assert set(names) == {"a.zip", "c.zip"}

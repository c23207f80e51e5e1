"""Collect trajectories of many tasks at once, resume where a run stopped, and never lose or repeat one.

A folder is complete once `trajectory.json` is there. On a restart complete folders are kept, incomplete ones discarded
and taken again, and so are those that ended by a fault (`invalid`): nobody learns from them, and it may have passed.
Any number of collectors may work on one output folder; a lease on each task keeps them apart.
"""

import asyncio
import dataclasses
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from collection.campaign.accounting import check_action_space, note_tasks
from collection.campaign.arriving import remove_left
from collection.campaign.backends import Backends
from collection.campaign.collectors import collectors
from collection.campaign.lease import leases
from collection.campaign.options import downloads_of, make_pace, make_policy
from collection.campaign.progress import CampaignProgress
from collection.campaign.schedule import Schedule
from collection.campaign.taking import Collector, Join, LostError, NeverTakenError, Try
from collection.config.commands import CollectionConfig
from collection.config.tasks import TaskFlags
from collection.judges import Judge
from collection.judges.judging import is_judge_fault, is_unclear, judge_once
from common.background import await_in_thread
from common.defaults import short
from common.errors import UserError
from common.full_disk import FullDiskError, full_disk_error, why_full
from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import INVALID, folder_name, is_complete, list_trajectories, read_end, read_outcome, write_outcome
from data.trajectory_writer import TrajectoryWriter
from environments.world import World

MAX_LOSSES = 3  # of one task with the collector that took it


async def collect(
    config: CollectionConfig,
    world: World,
    tasks: Sequence[Task],
    runs: Sequence[int | None],
    judge: Judge | None,
    all_tries: bool = False,
) -> None:
    """Take each task's `runs` one after another until one succeeds, or all of them, different tasks at the same time.

    Raises:
        UserError: the model server, the browsers or the websites do not work; what is complete is kept.
    """
    await world.restore()
    await world.snapshot()
    world.check(tasks)
    if config.upload_dir is not None and not config.upload_dir.is_dir():
        raise UserError(f"--upload_dir {config.upload_dir}: no such folder")
    if config.output_dir.is_dir():
        check_action_space(config.output_dir, config.action_space)
    policy, pace = make_policy(config), make_pace(config, config.env, config.site_interval_s)
    progress = CampaignProgress(len(tasks), pace)
    try:
        await policy.check()
        with leases(config.output_dir) as held:
            remove_left(config.output_dir, held)
            async with collectors(config, world, tasks, policy, pace, held, progress.say) as join:
                note_tasks(config.output_dir, tasks)
                schedule = Schedule(tasks, held, config.site_concurrency)
                downloads = downloads_of(config.download_dir, config.output_dir)
                await Campaign(config, downloads, world, schedule, runs, judge, join, progress, all_tries).run()
    except Exception as error:
        if isinstance(error, FullDiskError) or full_disk_error(error):
            raise full(config.output_dir, list_trajectories(config.output_dir), error) from error
        raise
    except asyncio.CancelledError:  # Ctrl-C
        print(
            f"stopped; what is complete is in {short(config.output_dir.absolute())}, and the same command goes on from "
            "there",
            file=sys.stderr,
        )
        raise
    finally:
        await policy.close()


def full(output_dir: Path, folders: Iterable[Path], error: Exception) -> UserError:
    """What to say when the disk is full; `folders` are the trajectories."""
    kept = sum(map(is_complete, folders))
    return FullDiskError(
        f"{output_dir}: {why_full(error)}; {kept} complete trajectories are kept there. "
        "Make room, and the same command goes on"
    )


@dataclass
class Campaign:
    """The work left, shared by all sessions of the collectors that join."""

    config: TaskFlags
    downloads: Path
    world: World
    schedule: Schedule
    runs: Sequence[int | None]
    judge: Judge | None
    join: Join
    progress: CampaignProgress
    all_tries: bool = False
    retries: Counter[str] = field(default_factory=Counter, init=False)
    losses: Counter[str] = field(default_factory=Counter, init=False)

    def __post_init__(self) -> None:
        self._backends = Backends(self.config.output_dir, self.world.restore, self.progress.say)

    async def run(self) -> None:
        """Give every session of every collector tasks until none is left."""
        with self.progress:
            try:
                async with asyncio.TaskGroup() as sessions:
                    joining = sessions.create_task(self.join(lambda ready: self._add(sessions, ready)))
                    await self.schedule.finished()
                    joining.cancel()
            except BaseExceptionGroup as errors:  # the first one ended the others
                raise errors.exceptions[0] from None

    def _add(self, sessions: asyncio.TaskGroup, collector: Collector) -> None:
        for number in range(collector.num_sessions):
            sessions.create_task(self._session(collector, number))

    async def _session(self, collector: Collector, number: int) -> None:
        """Until no task is left; the task of a collector that is lost goes back to the schedule."""
        while task := await self.schedule.take():
            again = False
            try:
                again = await self._work_on(collector, number, task)
            except LostError as lost:
                again = isinstance(lost, NeverTakenError) or self._is_tried_again(task)
                return
            finally:
                await self.schedule.done(task, again)

    def _is_tried_again(self, task: Task) -> bool:
        """A task whose collectors die, for lack of memory say, ends as invalid, until the next start."""
        self.losses[task.id] += 1
        if self.losses[task.id] < MAX_LOSSES:
            return True
        folders = {run: self.config.output_dir / folder_name(task.id, run) for run in self.runs}
        run = next((run for run, folder in folders.items() if not _is_kept(folder)), self.runs[0])
        shutil.rmtree(folders[run], ignore_errors=True)
        reason = f"collector: {MAX_LOSSES} died while they took it"
        writer = TrajectoryWriter(folders[run], task, {}, "", run)
        writer.finish(INVALID, reason=reason)
        writer.close()
        write_outcome(folders[run], Outcome(Verdict.INVALID, reason))
        self.progress.say(f"{folders[run].name}: invalid, {reason}")
        self.progress.task_done(Verdict.INVALID)
        return False

    async def _work_on(self, collector: Collector, session: int, task: Task) -> bool:
        """All tries of a task; whether a fault of its last one should be tried again later."""
        folders = {run: self.config.output_dir / folder_name(task.id, run) for run in self.runs}
        outcome: Outcome | None = None
        is_fault = False
        solved = any(_is_success(read_outcome(folder)) for folder in folders.values() if is_complete(folder))
        for run, folder in folders.items():
            if solved and not self.all_tries:
                break
            outcome = await self._try(collector, session, Try(task, run), folder)
            solved = solved or _is_success(outcome)
            is_fault = (is_fault and self.all_tries) or (outcome is not None and outcome.verdict is Verdict.INVALID)
            if outcome is not None and is_judge_fault(outcome):
                break  # perhaps it is solved: it is judged again before it is tried again
        if outcome is not None and is_unclear(outcome):
            is_fault = False  # it was asked again at once; the next command asks once more
        if is_fault and self.retries[task.id] < self.config.max_fault_retries:
            self.retries[task.id] += 1
            return True
        self.progress.task_done("solved" if solved else outcome.verdict if outcome else "taken")
        return False

    async def _try(self, collector: Collector, session: int, wanted: Try, folder: Path) -> Outcome | None:
        """The outcome of one try, kept from an earlier run or taken now; None when nobody judges."""
        is_new, task, said = not _is_kept(folder), wanted.task, ""
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)
            await self._backends.before(task)
            said = await self._take(collector, session, wanted, folder)
        if (outcome := _fault_of(folder)) is None and self.judge is not None:
            # A slow judge holds up the session that waits for it, and nothing else.
            outcome = await await_in_thread(judge_once, self.judge, task, folder)
            if outcome.verdict is not Verdict.BLOCKED:  # that is said
                said = f"{said}, {outcome.verdict.value}"
        if is_new:
            self.progress.say(f"{folder.name}: {said}")
            await self._backends.after(task)
        return outcome

    async def _take(self, collector: Collector, session: int, wanted: Try, folder: Path) -> str:
        """What to say of it."""
        downloads = self.downloads / folder.name
        shutil.rmtree(downloads, ignore_errors=True)
        wanted = dataclasses.replace(wanted, contaminated_by=self._backends.contaminated_by(wanted.task))
        self._backends.begin(wanted.task)
        try:
            with self.progress.active():
                taken = await collector.take(session, wanted, folder, downloads)
        except LostError:  # what it had changed by then stays changed
            await self._backends.after(wanted.task)
            raise
        return taken.said


def _is_success(outcome: Outcome | None) -> bool:
    return outcome is not None and outcome.success


def _is_kept(folder: Path) -> bool:
    return is_complete(folder) and _fault_of(folder) is None


def _fault_of(folder: Path) -> Outcome | None:
    """The outcome of a trajectory that ended by a fault."""
    end = read_end(folder)
    return Outcome(Verdict.INVALID, end["reason"]) if end and end["status"] == INVALID else None

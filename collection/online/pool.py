"""The pool: sessions that take rollout after rollout, of the oldest groups first, and begin groups as they may.

Nothing waits for the end of a step: a session that is free takes the next rollout, judges work beside the sessions,
and a group is complete when its last rollout is settled. Everything it knows it reads from the run's folder when it
starts, so that one that is killed goes on where it was: complete rollouts are kept, begun ones are taken again.
"""

import asyncio
import contextlib
import shutil
from collections import Counter, defaultdict, deque
from dataclasses import dataclass

from collection.campaign.backends import Backends
from collection.campaign.lease import Leases
from collection.campaign.options import downloads_of
from collection.campaign.pacing import Pace
from collection.campaign.schedule import Schedule
from collection.campaign.taking import Collector, Join, Try
from collection.config.commands import PoolConfig
from collection.judges import Judge
from collection.judges.judging import is_unclear, judge_once
from collection.online.admission import Admission
from collection.online.curriculum import Curriculum
from collection.online.group import OpenGroup, needs_judge_alone, read_begun
from collection.online.order import Order
from collection.online.status import PoolStatus
from collection.online.tasks import GrowingTasks
from collection.online.versions import Versions
from common.background import await_in_thread
from common.errors import UserError
from data.online_run import Group, OnlineRun
from data.outcome import Outcome, Verdict
from data.trajectory import INVALID, outcome_by_end, read_end
from environments.world import World

_LOOK_S = 0.5
"""How often it is looked for new versions, fates and tasks."""
_TELL_S = 5.0


@dataclass(frozen=True)
class Rollout:
    """The `run`-th of its group."""

    group: OpenGroup
    run: int

    @property
    def key(self) -> tuple[int, int]:
        return self.group.number, self.run


class Pool:
    """`run` ends when `num_groups` are complete, or never."""

    def __init__(
        self,
        config: PoolConfig,
        world: World,
        tasks: GrowingTasks,
        versions: Versions,
        held: Leases,
        judge: Judge,
        pace: Pace,
        status: PoolStatus,
    ):
        self._config, self._tasks, self._versions, self._judge = config, tasks, versions, judge
        self._pace, self._status = pace, status
        self._run = OnlineRun(config.run_dir)
        self._admission = Admission(config.groups_per_step, config.max_lag, config.most_ahead)
        self._schedule = Schedule((), held, config.site_concurrency)
        self._waiting: defaultdict[str, deque[Rollout]] = defaultdict(deque)  # by task: rollouts of one are alike
        self._retries: Counter[tuple[int, int]] = Counter()
        self._downloads = downloads_of(config.download_dir, config.output_dir)
        self._backends = Backends(config.output_dir, world.restore, status.say)
        self._num_sessions = 0
        self._news = asyncio.Event()
        begun = read_begun(self._run)
        self._open = {group.number: group for group in begun.open}
        now = {task.id: task for task in tasks.tasks}
        for group in begun.open:  # the world may be at another port than it was
            group.task = now.get(group.task.id, group.task)
        self._num_complete, self._next_number = len(begun.complete), begun.next_number
        self._order = Order(config.seed or 0, begun.epochs)
        self._order.set_tasks(tasks.tasks)
        self._curriculum = Curriculum(config.curriculum_floor, begun.complete)

    async def run(self, join: Join) -> None:
        """Until the end, or a `UserError`: nothing works here, or the trainer does not keep to what both agreed on."""
        try:
            async with asyncio.TaskGroup() as work:
                self._work = work
                for group in list(self._open.values()):
                    self._resume(group)
                living = [work.create_task(each) for each in (self._look(), self._tell(), join(self._add))]
                while not self._is_over:
                    await self._wait()
                for task in living:
                    task.cancel()
        except BaseExceptionGroup as errors:  # the first one ended the others
            raise errors.exceptions[0] from None
        finally:
            self._say_where()

    @property
    def _is_over(self) -> bool:
        most = self._config.num_groups
        return most is not None and self._next_number >= most and not self._open

    def _add(self, collector: Collector) -> None:
        self._num_sessions += collector.num_sessions
        for number in range(collector.num_sessions):
            self._work.create_task(self._session(collector, number))

    async def _session(self, collector: Collector, number: int) -> None:
        while (rollout := await self._next()) is not None:
            task = rollout.group.task
            try:
                await self._take(collector, number, rollout)
            finally:
                await self._schedule.done(task)
                self._news.set()
            self._work.create_task(self._settle(rollout))

    async def _next(self) -> Rollout | None:
        """The next rollout that may be taken, of the oldest group first; a new group where there is none."""
        while not self._is_over:
            if task := self._schedule.pick():
                return self._waiting[task.id].popleft()
            if self._may_begin():
                self._begin()
            else:
                with self._status.waiting():
                    await self._wait()
        return None

    def _may_begin(self) -> bool:
        most = self._config.num_groups
        if most is not None and self._next_number >= most:
            return False
        oldest = min(self._open, default=None)
        return self._admission.allows(self._next_number, self._versions.dropped, self._versions.held, oldest)

    def _begin(self) -> None:
        number, (task, epoch) = self._next_number, self._order.take(self._curriculum.share)
        folder = self._run.group(number)
        group = OpenGroup(number, task, self._config.group_size, epoch, self._versions.held, folder)
        group.begin()
        self._next_number += 1
        self._open[number] = group
        for run in range(group.size):
            self._put(Rollout(group, run))

    def _resume(self, group: OpenGroup) -> None:
        """A group of an earlier start: what is complete only has to be judged, if that."""
        for run in range(group.size):
            folder, rollout = group.rollout(run), Rollout(group, run)
            end = read_end(folder)
            if end is None or end["status"] == INVALID:  # a fault may have passed
                self._put(rollout)
            else:
                self._work.create_task(self._settle(rollout))

    def _put(self, rollout: Rollout) -> None:
        self._waiting[rollout.group.task.id].append(rollout)
        self._schedule.put(rollout.group.task)
        self._news.set()

    async def _take(self, collector: Collector, session: int, rollout: Rollout) -> None:
        """Leave a complete folder."""
        group, task, folder = rollout.group, rollout.group.task, rollout.group.rollout(rollout.run)
        if needs_judge_alone(folder):
            return
        downloads = self._downloads / group.folder.name / folder.name
        for left in (folder, downloads):
            shutil.rmtree(left, ignore_errors=True)
        await self._backends.before(task)
        wanted = Try(task, rollout.run, self._backends.contaminated_by(task), group.number)
        self._backends.begin(task)
        try:
            await collector.take(session, wanted, folder, downloads)
        finally:
            await self._backends.after(task)

    async def _settle(self, rollout: Rollout) -> None:
        """Its verdict; a fault is tried again."""
        folder = rollout.group.rollout(rollout.run)
        end = read_end(folder)
        assert end is not None  # it was taken
        outcome = outcome_by_end(end["status"], end["reason"])
        if outcome is None:
            outcome = await await_in_thread(judge_once, self._judge, rollout.group.task, folder)
        if self._is_tried_again(rollout, outcome):
            self._put(rollout)
            return
        rollout.group.settle(rollout.run, outcome)
        self._status.rollout(rollout.group.rewards[rollout.run])
        if rollout.group.is_settled:
            self._complete(rollout.group)

    def _is_tried_again(self, rollout: Rollout, outcome: Outcome) -> bool:
        """A fault, `max_fault_retries` times; a judge that was asked often enough is not asked again."""
        if outcome.verdict is not Verdict.INVALID or is_unclear(outcome):
            return False
        self._retries[rollout.key] += 1
        return self._retries[rollout.key] <= self._config.max_fault_retries

    def _complete(self, group: OpenGroup) -> None:
        done = group.complete(self._run)
        del self._open[group.number]
        self._curriculum.settled(done)
        self._num_complete += 1
        self._news.set()
        shutil.rmtree(self._downloads / group.folder.name, ignore_errors=True)
        self._check_age(done)

    def _check_age(self, group: Group) -> None:
        age = self._run.newest_version() - group.versions[0]
        self._status.ages[age] += 1
        if age > self._admission.worst_age:
            raise UserError(
                f"group {group.group} is {age} versions old, and at most {self._admission.worst_age} can be: does the "
                f"trainer learn from --groups_per_step {self._config.groups_per_step} groups a version, and do the "
                "servers take each version when it is published?"
            )

    async def _wait(self) -> None:
        """For news, or a moment."""
        self._news.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_S):
                await self._news.wait()

    async def _look(self) -> None:
        while True:
            await self._versions.look()
            if await self._tasks.read_again():
                self._order.set_tasks(self._tasks.tasks)
            self._news.set()
            await asyncio.sleep(_LOOK_S)

    async def _tell(self) -> None:
        while True:
            self._say_where()
            await asyncio.sleep(_TELL_S)

    def _say_where(self) -> None:
        fates = self._versions.fates
        self._status.tell(
            self._num_sessions,
            version=self._versions.published,
            held=self._versions.held,
            running=len(self._open),
            complete=self._num_complete,
            learned=fates["learned"],
            dropped=self._versions.dropped,
            steps_per_s=self._pace.steps_per_s(),
        )

"""Collection simulated event by event: the collector's own schedule, pacing and retries, on a virtual clock.

What is simulated are browsers (delays, and work that their node's cores share) and servers (replies in batches, a
queue, 429 when that is full). Which task begins when, what a website allows, who holds a seat and who asks again is
decided by the code that collects.
"""

import asyncio
import dataclasses
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from collection.agent.policy import Completion, PolicyError, Retries, ServerDeadError
from collection.campaign.lease import leases
from collection.campaign.pacing import Pace, site_of
from collection.campaign.schedule import Schedule
from common.retry import TransientError
from data.task import Task
from elcano.planning.clock import run_virtually
from elcano.planning.speeds import EpisodeCost, Part, ServerSpeed, StageSpeed, host_of
from elcano.planning.station import Station

Result = TypeVar("Result")

_NO_PAGE: Any = None
"""In a page's place, where nothing is frozen."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """Where and how tasks are taken. Sessions are spread over the nodes; `seats`: pages busy at once on each."""

    nodes: int
    cores: int
    sessions: int
    seats: int
    replicas: int
    max_batch_size: int
    max_queue: int
    tries: int = 1
    all_tries: bool = False
    site_concurrency: int = 0
    site_interval_s: float = 0.0
    collector_s_a_step: float = 0.0
    """Seconds of one core that a node's collector, one process, takes for a step; 0: not looked at."""
    driver_mb_s: float = 0.0
    """MB of trajectories a second that the driver takes from the nodes; 0: they need not travel."""


@dataclasses.dataclass(frozen=True)
class Collected:
    """What a simulation saw."""

    seconds: float
    num_steps: int
    num_lost: int
    """Trajectories that ended since the server refused a request each time."""
    waits: dict[str, float]
    """Seconds of all sessions together by what they spent them on, `SPENT`."""
    server_busy: float
    """Share of the time, mean over replicas."""
    cores_busy: float
    """Share of all cores' time."""
    driver_busy: float
    """Share of the time that the driver takes trajectories."""
    stopped: str = ""
    """The collector's last words where it gave up."""

    @property
    def steps_per_s(self) -> float:
        return self.num_steps / self.seconds if self.seconds else 0.0


SPENT = ("page", "cores", "collector", "reply", "server", "seat", "site", "driver", "idle")
"""A page at work; waiting for cores; for the collector's process; one's own reply; others' replies, queue and refusals;
a seat; a website's limits; a trajectory that travels to the driver; no task left."""


def simulate(tasks: Sequence[Task], speed: StageSpeed, setting: Setting, seed: int = 0) -> Collected:
    """Take all tasks, with trajectories drawn from those measured."""
    return run_virtually(_Collection(tasks, speed, setting, random.Random(seed)).run())


def _in_turn(n: int) -> float:
    """One core, one wire: n at once are as long about it as one after another."""
    return 1 / n


class Server:
    """One replica: up to `max_batch_size` replies together, `max_queue` more wait, others are refused."""

    def __init__(self, speed: ServerSpeed, setting: Setting):
        self.station = Station(lambda n: 1 / (speed.fixed_s + speed.each_s * n))
        self.num_under_way = 0
        self.alone_s = speed.alone_s
        self._room = asyncio.Semaphore(setting.max_batch_size)
        self._most = setting.max_batch_size + setting.max_queue

    async def reply(self, work: float) -> None:
        """Raises TransientError where the queue is full, and says when to come again as our server does."""
        if self.num_under_way >= self._most:
            waiting_s = self.alone_s * self.num_under_way / 2
            raise TransientError("too many requests wait", max(1.0, min(60.0, waiting_s)))
        self.num_under_way += 1
        try:
            async with self._room:
                await self.station.serve(work)
        finally:
            self.num_under_way -= 1


class _Collection:
    def __init__(self, tasks: Sequence[Task], speed: StageSpeed, setting: Setting, chance: random.Random):
        self._tasks, self._speed, self._setting, self._chance = tasks, speed, setting, chance
        self._waits = Counter(dict.fromkeys(SPENT, 0.0))
        self._decks: defaultdict[str, list[EpisodeCost]] = defaultdict(list)
        self._num_steps = self._num_lost = 0

    async def run(self) -> Collected:
        setting, stopped = self._setting, ""
        self._cores = [Station(lambda n: min(1.0, setting.cores / n)) for _ in range(setting.nodes)]
        self._collectors = [Station(_in_turn) for _ in range(setting.nodes)]
        self._driver = Station(_in_turn)
        self._paces = [Pace(setting.seats) for _ in range(setting.nodes)]
        self._sites = Pace(1, setting.site_interval_s)  # whoever drives the nodes keeps the websites' pace
        self._servers = [Server(self._speed.server, setting) for _ in range(setting.replicas)]
        self._retries = Retries("the simulated server")
        with tempfile.TemporaryDirectory() as folder, leases(Path(folder)) as held:
            self._schedule = Schedule(self._tasks, held, setting.site_concurrency)
            sessions = [asyncio.create_task(self._session(number)) for number in range(setting.sessions)]
            try:
                ends = await asyncio.gather(*sessions)
            except ServerDeadError as error:
                stopped, ends = str(error), []
                for session in sessions:
                    session.cancel()
                await asyncio.gather(*sessions, return_exceptions=True)
        seconds = max(ends, default=asyncio.get_running_loop().time())
        self._waits["idle"] += sum(seconds - end for end in ends)
        ever = max(seconds, 1e-9)  # without tasks it is over at once
        return Collected(
            seconds=seconds,
            num_steps=self._num_steps,
            num_lost=self._num_lost,
            waits=dict(self._waits),
            server_busy=sum(server.station.busy_s for server in self._servers) / ever / setting.replicas,
            cores_busy=sum(cores.work_done for cores in self._cores) / ever / setting.nodes / setting.cores,
            driver_busy=self._driver.busy_s / ever,
            stopped=stopped,
        )

    async def _session(self, number: int) -> float:
        """Takes tasks until none is left; returns when."""
        node = number % self._setting.nodes
        while task := await self._timed("site", self._schedule.take()):
            for _ in range(self._setting.tries):
                solved = await self._try(task, node)
                if solved and not self._setting.all_tries:
                    break
            await self._schedule.done(task)
        return asyncio.get_running_loop().time()

    async def _try(self, task: Task, node: int) -> bool:
        """One trajectory, as `collection/campaign/campaign.py` takes it."""
        episode = self._draw(host_of(task.web))
        server: Server | None = None
        pace = self._paces[node]
        before = asyncio.get_running_loop().time()
        async with pace.seat():
            self._spend("seat", before)
            await self._timed("site", self._sites.turn(site_of(task)))
            await self._page(node, episode.open)
            for step in episode.steps:
                await self._page(node, step.observe)
                try:
                    async with pace.thinking(_NO_PAGE):
                        server = self._home(server)
                        await self._reply(server, step.reply, task)
                        await self._timed("site", self._sites.turn(site_of(task)))
                        before = asyncio.get_running_loop().time()
                except PolicyError:
                    self._num_lost += 1
                    return False
                self._spend("seat", before)
                await self._collect(node)
                await self._page(node, step.act)
                self._num_steps += 1
        if self._setting.driver_mb_s:
            megabytes = self._speed.mb_a_step * len(episode.steps)
            await self._timed("driver", self._driver.serve(megabytes / self._setting.driver_mb_s))
        return episode.success

    def _draw(self, host: str) -> EpisodeCost:
        """One of that website's trajectories, or of all where it has none; none twice before each came once."""
        left = self._decks[host]
        if not left:
            same = [episode for episode in self._speed.episodes if episode.host == host]
            left += same or self._speed.episodes
            self._chance.shuffle(left)
        return left.pop()

    def _home(self, server: Server | None) -> Server:
        """The trajectory's own replica, unless that has a batch more under way than the idlest: as our router does."""
        idlest = min(self._servers, key=lambda server: server.num_under_way)
        if server and server.num_under_way <= idlest.num_under_way + self._setting.max_batch_size:
            return server
        return idlest

    async def _page(self, node: int, part: Part) -> None:
        begin = asyncio.get_running_loop().time()
        await asyncio.sleep(part.delay_s)
        await self._cores[node].serve(part.work_s)
        self._waits["page"] += part.delay_s + part.work_s
        self._spend("cores", begin + part.delay_s + part.work_s)

    async def _collect(self, node: int) -> None:
        """The collector's process is one core at most. What it takes of it is counted in the page's work already."""
        if own_s := self._setting.collector_s_a_step:
            begin = asyncio.get_running_loop().time()
            await self._collectors[node].serve(own_s)
            self._spend("collector", begin)

    async def _reply(self, server: Server, work: float, task: Task) -> None:
        begin, alone_s = asyncio.get_running_loop().time(), server.alone_s * work

        async def ask() -> Completion:
            await server.reply(work)
            return Completion("")

        await self._retries.run(ask, task.web)
        self._waits["reply"] += alone_s
        self._spend("server", begin + alone_s)

    async def _timed(self, what: str, waiting: Awaitable[Result]) -> Result:
        begin = asyncio.get_running_loop().time()
        result = await waiting
        self._spend(what, begin)
        return result

    def _spend(self, what: str, since: float) -> None:
        """A session spent the time since then on something."""
        self._waits[what] += asyncio.get_running_loop().time() - since

"""The nodes of a Ray cluster as collectors: each gets one when it joins, and another when that dies.

The schedule, the leases, the judge and the output folder stay with the driver. A trajectory arrives in a hidden folder
of the output folder and is there at once, by a rename, when all of it has come.
"""

import asyncio
import contextlib
import dataclasses
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from collection.campaign.arriving import arriving_in, probe
from collection.campaign.lease import Leases
from collection.campaign.pacing import Pace, site_of
from collection.campaign.taking import Join, LostError, NeverTakenError, Taken, Try
from collection.config.commands import CollectionConfig
from collection.endpoints.keys import base_key
from collection.nodes.node import DOWNLOADS, KEYS, Node, Refused, Setting, Turns, sources
from collection.nodes.pieces import AHEAD, write
from collection.nodes.reach import Reach
from common.defaults import ROOT
from common.errors import UserError
from common.options.key_flags import ENDPOINT_KEY
from common.ray_cluster import cluster
from common.ray_cluster.settings import is_own
from data.task import Task
from environments.world import World

_LAST = "trajectory.json"
"""Of a trajectory that is complete."""
_MOST_SAID = 300
"""Characters of what an actor died of."""
_POLL_S, _OWN_POLL_S = 1.0, 30.0
"""How often it is asked which nodes there are; none joins a cluster of our own."""
_MAX_DEATHS = 3
_PAUSE_S = 5.0
"""Before a collector is begun again; by then it may be known that its node has died, too."""
_MOST_CALLS = 100_000
"""More than sessions: those of an actor wait for each other beyond it."""
_BEGUN_S = 300.0
"""A collector that has not begun by then never will."""
_PING_S = 120.0
"""One that lives answers within a moment, on a starved machine within seconds."""
_WORKER = {"RAY_kill_child_processes_on_worker_exit": "0"}
"""Else Ray ends the watchdog of a collector that dies, and sets its browsers free."""

Say = Callable[[str], None]


@contextlib.asynccontextmanager
async def on_nodes(
    config: CollectionConfig, world: World, tasks: Sequence[Task], pace: Pace, held: Leases, say: Say
) -> AsyncIterator[Join]:
    """What begins a collector on each node that is there, and on each that joins later, until the block ends.

    It raises `UserError` when none is left that can collect.
    """
    with contextlib.ExitStack() as stack:
        arriving = stack.enter_context(arriving_in(config.output_dir))
        seen = stack.enter_context(probe(arriving, held)) if config.shared_output_dir else None
        turns = _turns(config.site_interval_s) if config.site_interval_s else None
        public = dataclasses.replace(config, api_key="")
        setting = Setting(public, world, tasks, str(Path.cwd()), seen, turns, sources())
        poll_s = _OWN_POLL_S if is_own(config.ray_address) else _POLL_S
        nodes = _Nodes(setting, _keys(config.api_key), arriving, pace, say, poll_s)
        stack.callback(nodes.close)
        yield nodes.join


def _keys(api_key: str) -> dict[str, str]:
    """All keys and addresses of endpoints that nodes need, as variables."""
    variables = {name: os.environ[name] for name in KEYS if name in os.environ}
    key = base_key(api_key)
    return {**variables, ENDPOINT_KEY: key} if key else variables


def _turns(interval_s: float) -> Any:
    """Beside the driver. Where somebody kills it, its successor has forgotten when the last turn was."""
    actor = ray.remote(Turns).options(**_there(cluster.own_node()), max_restarts=-1, max_task_retries=-1)
    return actor.remote(interval_s)


class _Nodes:
    """`join` as `Join`."""

    def __init__(
        self, setting: Setting, variables: dict[str, str], arriving: Path, pace: Pace, say: Say, poll_s: float
    ) -> None:
        self._setting, self._variables = ray.put(setting), variables
        self._arriving, self._is_shared = arriving, setting.seen is not None
        self._own_node = cluster.own_node()  # it sees the output folder as we do
        self._pace, self._say, self._poll_s = pace, say, poll_s
        self._keepers: dict[str, asyncio.Task[None]] = {}
        self._collectors: dict[str, NodeCollector] = {}
        self._refusal = ""
        self._reach = Reach()

    async def join(self, add: Callable[["NodeCollector"], None]) -> None:
        while True:
            there = {node.id: node for node in await asyncio.to_thread(cluster.nodes)}
            for gone in self._keepers.keys() - there.keys():
                self._keepers.pop(gone).cancel()
                if collector := self._collectors.pop(gone, None):
                    collector.end()
                    self._say(f"node {collector.address} is gone")
            for new in there.keys() - self._keepers.keys():
                self._keepers[new] = asyncio.create_task(self._keep(there[new], add))
            await self._until_looked_again()
            ended = [keeper for keeper in self._keepers.values() if keeper.done()]
            for keeper in ended:
                keeper.result()
            if ended and len(ended) == len(self._keepers):
                raise UserError(f"no node of the Ray cluster can collect: {self._refusal}")

    async def _until_looked_again(self) -> None:
        """Or until a keeper has ended."""
        at_work = [keeper for keeper in self._keepers.values() if not keeper.done()]
        if at_work:
            await asyncio.wait(at_work, timeout=self._poll_s, return_when=asyncio.FIRST_COMPLETED)
        elif not self._keepers:
            await asyncio.sleep(self._poll_s)

    def close(self) -> None:
        """End all collectors, with their browsers."""
        for keeper in self._keepers.values():
            keeper.cancel()
        for collector in self._collectors.values():
            collector.end()

    async def _keep(self, node: cluster.Node, add: Callable[["NodeCollector"], None]) -> None:
        """A collector on a node, again when it dies, unless it never gets anywhere."""
        deaths, reason, died_of = 0, "", ""
        while deaths < _MAX_DEATHS and not reason:
            actor = ray.remote(Node).options(**_there(node.id), runtime_env={"env_vars": _WORKER}).remote()
            is_shared = self._is_shared or node.id == self._own_node
            collector = NodeCollector(actor, node.address, self._arriving, is_shared, self._pace, self._reach)
            self._collectors[node.id] = collector
            await collector.begin(self._setting, self._variables)
            if collector.num_sessions:
                self._say(f"node {node.address}: {collector.num_sessions} sessions")
                add(collector)
            reason = await collector.watch()
            deaths, died_of = 0 if collector.has_taken else deaths + 1, collector.died_of
            if not reason:
                if collector.num_sessions:
                    self._say(f"node {node.address}: its collector died; others take what it was taking")
                await asyncio.sleep(_PAUSE_S)
        died = f"its collector died {deaths} times in a row, the last time of: {died_of}"
        self._refusal = f"node {node.address}: {reason or died}"
        self._say(f"left out: {self._refusal}")


class NodeCollector:
    """A node's collector as the driver sees it (`collection.campaign.taking.Collector`). `ended` is why it refused to
    go on, "" when it died."""

    def __init__(self, actor: Any, address: str, arriving: Path, is_shared: bool, pace: Pace, reach: Reach) -> None:
        self.address, self.num_sessions, self.has_taken, self.died_of = address, 0, False, ""
        self._reach = reach
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._actor, self._arriving, self._is_shared, self._pace = actor, arriving, is_shared, pace

    async def begin(self, setting: ray.ObjectRef, variables: dict[str, str]) -> None:
        """It has sessions then, or has ended."""
        try:
            said = await asyncio.wait_for(_answer(self._actor.begin.remote(setting, variables)), _BEGUN_S)
        except TimeoutError:
            self.end(f"its collector did not begin within {_BEGUN_S:.0f} s")
            return
        except RayError as error:
            self._end_by(error)
            return
        if isinstance(said, Refused):
            self.end(said.reason)
        else:
            self.num_sessions = said

    async def watch(self) -> str:
        """Until it has ended; why. One that lives and does nothing more is ended."""
        while not self.ended.done():
            await asyncio.wait([self.ended], timeout=_PING_S)
            if self.ended.done():
                break
            try:
                await asyncio.wait_for(_answer(self._actor.ping.remote()), _PING_S)
            except TimeoutError:
                self.died_of = f"no answer for {_PING_S:.0f} s"
                self.end()
            except RayError as error:
                self._end_by(error)
        return self.ended.result()

    async def take(self, session: int, wanted: Try, folder: Path, downloads: Path) -> Taken:
        """As `Collector`."""
        if self.ended.done():
            raise NeverTakenError
        arriving = self._arriving / wanted.name / secrets.token_hex(4)  # a node that is cut off may go on writing there
        shutil.rmtree(arriving.parent, ignore_errors=True)
        try:
            arriving.mkdir(parents=True)
            taken = await self._receive(session, wanted, arriving)
            if not (arriving / wanted.name / _LAST).exists():
                self.end("writes where this command does not read")
                raise LostError
            await asyncio.to_thread(_put, arriving, wanted.name, folder, downloads)
        except OSError as error:
            raise UserError(f"{folder} cannot be written: {error}; what is complete is kept") from error
        finally:
            await asyncio.to_thread(shutil.rmtree, arriving.parent, ignore_errors=True)
        self.has_taken, site = True, site_of(wanted.task)
        if not taken.page_fault:
            self._reach.opened(self, site)
        elif self._reach.failed(self, site):
            self.end("websites do not open there that others have opened meanwhile")
        for _ in range(taken.num_steps):
            self._pace.count_step()
        return taken

    def end(self, reason: str = "") -> None:
        """End it there, and all that it takes."""
        if not self.ended.done():
            self.ended.set_result(reason)
        ray.kill(self._actor)

    async def _receive(self, session: int, wanted: Try, arriving: Path) -> Taken:
        call = self._actor.take.options(num_returns="streaming", _generator_backpressure_num_objects=AHEAD)
        try:
            async for reference in call.remote(session, wanted, arriving if self._is_shared else None):
                found = await reference
                if isinstance(found, Taken):
                    return found
                if isinstance(found, Refused):
                    self.end(found.reason)
                    break
                await asyncio.to_thread(write, arriving, found)
        except RayError as error:
            self._end_by(error)
        raise LostError

    def _end_by(self, error: RayError) -> None:
        """It died, or has a fault of our own, which it would have again."""
        self.died_of = " ".join(str(error).split())[:_MOST_SAID]
        if isinstance(error, RayActorError) and error.actor_init_failed:
            self.end(f"cannot load the collector in {ROOT}; all nodes need the same Elcano there")
        else:
            self.end(f"{type(error.cause).__name__}: {error.cause}" if isinstance(error, RayTaskError) else "")


def _put(arriving: Path, name: str, folder: Path, downloads: Path) -> None:
    """A trajectory where it belongs, and on the disk before that."""
    if (arriving / DOWNLOADS).exists():
        shutil.move(arriving / DOWNLOADS, downloads)
    with open(arriving / name / _LAST, "rb") as file:
        os.fsync(file.fileno())
    (arriving / name).rename(folder)


async def _answer(reference: Any) -> Any:
    """What Ray can be asked for is awaitable, and no coroutine."""
    return await reference


def _there(node: str) -> dict[str, Any]:
    """Options of an actor that takes nothing of what Ray counts, on this node."""
    where = NodeAffinitySchedulingStrategy(node, soft=False)
    return {"num_cpus": 0, "scheduling_strategy": where, "max_concurrency": _MOST_CALLS}

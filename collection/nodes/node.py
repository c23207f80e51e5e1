"""What runs on a node: a collector with browsers of its own, which takes the tries that it is given."""

import contextlib
import dataclasses
import hashlib
import itertools
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

from collection.campaign.options import make_pace, make_policy, num_sessions
from collection.campaign.pacing import Pace
from collection.campaign.taking import Taken, Taker, Try
from collection.config.commands import CollectionConfig
from collection.nodes.pieces import Piece, batches
from common.defaults import ROOT
from common.errors import UserError
from common.options.key_flags import ENDPOINT_KEY
from common.processes import allow_many_descriptors, reach_own_hosts_directly
from common.reaper import Reaper
from data.task import Task
from environments.world import World

KEYS = ("ELCANO_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", ENDPOINT_KEY)
DOWNLOADS = "downloads"
"""Beside the trajectory's folder in what comes of a try."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """What all nodes are told. `seen` is a file of the output folder, where nodes share that; `turns` is the actor that
    gives out the turns on websites, where they have to wait for one; `sources` is the driver's own digest."""

    config: CollectionConfig
    world: World
    tasks: Sequence[Task]
    folder: str
    seen: Path | None
    turns: Any
    sources: str


@dataclasses.dataclass(frozen=True)
class Refused:
    """Why nothing can be collected on this node."""

    reason: str


def sources() -> str:
    """A digest of the code that collects."""
    digest = hashlib.sha256()
    for room in ("collection", "common", "data", "environments"):
        for path in sorted((ROOT / room).rglob("*.py")):
            digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


class Node:
    """The actor."""

    def __init__(self) -> None:
        self._used = contextlib.AsyncExitStack()
        self._numbers = itertools.count()

    async def begin(self, setting: Setting, variables: dict[str, str]) -> int | Refused:
        """How many sessions it has. `variables` are all keys and addresses of endpoints, whatever its own shell had."""
        for name in KEYS:
            os.environ.pop(name, None)
        os.environ.update(variables)
        with contextlib.suppress(OSError):  # where the user's relative paths lead somewhere
            os.chdir(setting.folder)
        allow_many_descriptors()
        reach_own_hosts_directly()
        try:
            self._taker = await self._open(setting)
        except UserError as error:
            return Refused(str(error))
        self._scratch = Path(tempfile.mkdtemp(prefix="elcano-node-"))
        Reaper().watch(self._scratch)
        return self._taker.num_sessions

    async def take(self, session: int, wanted: Try, place: Path | None) -> AsyncIterator[list[Piece] | Taken | Refused]:
        """The try's trajectory, in a folder of its name, and its downloads: in `place`, else piece by piece; at the end
        what is said of it."""
        if place is not None and not place.is_dir():
            yield Refused(f"does not see {place.parent.parent.parent}, where this command writes")
            return
        with self._folder(place) as folder:
            try:
                taken = await self._taker.take(session, wanted, folder / wanted.name, folder / DOWNLOADS)
            except UserError as error:
                yield Refused(str(error))
                return
            for batch in batches(folder) if place is None else ():
                yield batch
            yield taken

    async def ping(self) -> None:
        """Nothing but an answer."""

    async def _open(self, setting: Setting) -> Taker:
        config, tasks = setting.config, setting.tasks
        if setting.sources != sources():
            raise UserError(f"has another version of Elcano in {ROOT}")
        if setting.seen and not setting.seen.exists():
            raise UserError(f"does not see {config.output_dir}, which --shared_output_dir says that it does")
        if config.upload_dir is not None and not config.upload_dir.is_dir():
            raise UserError(f"--upload_dir {config.upload_dir}: no such folder")
        setting.world.check(tasks)
        policy = make_policy(config)
        await policy.check()
        self._used.enter_context(setting.world.serve_again())
        sessions = min(num_sessions(config.num_sessions), len(tasks))
        environments = setting.world.environments(tasks, sessions)
        open_environment = await self._used.enter_async_context(environments)
        pace = make_pace(config, config.env, site_interval_s=0)
        if setting.turns:
            pace = _PaceOfAll(pace.seats, freeze=pace.freeze, turns=setting.turns)
        return Taker(config, config.max_iter, policy, open_environment, pace, sessions)

    @contextlib.contextmanager
    def _folder(self, place: Path | None) -> Iterator[Path]:
        folder = place or self._scratch / str(next(self._numbers))
        try:
            yield folder
        finally:
            if place is None:
                shutil.rmtree(folder, ignore_errors=True)


@dataclasses.dataclass
class _PaceOfAll(Pace):
    """The interval between actions on a website is one of all nodes."""

    turns: Any = None

    async def turn(self, site: str) -> None:
        await self.turns.turn.remote(site)


class Turns:
    """The actor that gives them out, beside the driver."""

    def __init__(self, interval_s: float):
        self._pace = Pace(1, interval_s)

    async def turn(self, site: str) -> None:
        """As `Pace.turn`."""
        await self._pace.turn(site)

"""Collect trajectories of many tasks at once, resume where a run stopped, and never lose or repeat one.

A folder is complete once `trajectory.json` is there. On a restart complete folders are kept, incomplete ones discarded
and taken again, and so are those that ended by a fault (`invalid`): nobody learns from them, and it may have passed.
"""

import asyncio
import contextlib
import fcntl
import shutil
import socket
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from collection.browser.faults import PageError
from collection.browser.fleet import Fleet
from collection.browser.page import Page
from collection.episode import run_episode
from collection.judging import Judge, judge_once
from collection.options import CollectionConfig
from collection.policy import Policy, PolicyError
from data.errors import UserError
from data.files import read_json
from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import INVALID, TrajectoryWriter, folder_name, is_complete, read_outcome, write_outcome

MAX_FAULTS = 5  # in a row, of the browser or of websites on this machine: then something here is broken


async def collect(
    config: CollectionConfig, tasks: Sequence[Task], runs: Sequence[int | None], judge: Judge | None
) -> None:
    """Take each task's `runs` one after another until one succeeds, different tasks at the same time.

    Raises:
        UserError: the model server, the browsers or the websites do not work; what is complete is kept.
    """
    policy = config.policy()
    try:
        await policy.check()
        check_embedded_sites(tasks)
        with locked(config.output_dir):
            async with Fleet(config.num_sessions, config.headless, config.viewport()) as fleet:
                await Campaign(config, tasks, runs, judge, policy, fleet).sail()
    finally:
        await policy.close()


@contextlib.contextmanager
def locked(output_dir: Path) -> Iterator[None]:
    """Hold the results folder for this process; the lock ends with it, however it ends."""
    try:
        output_dir.mkdir(parents=True, exist_ok=True)
        lock = open(output_dir / ".lock", "w")  # noqa: SIM115, closed below
    except OSError as error:
        raise UserError(f"--output_dir {output_dir} cannot be written: {error.strerror}") from None
    with lock as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{output_dir}: another collector is writing here; give another --output_dir") from None
        yield


def check_embedded_sites(tasks: Sequence[Task]) -> None:
    """Raise UserError unless something listens where tasks on `<site>.localhost` begin."""
    addresses = [urlsplit(task.web) for task in tasks]
    for port in {address.port or 80 for address in addresses if (address.hostname or "").endswith(".localhost")}:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError as error:
            raise UserError(
                f"no websites answer on port {port} ({error.strerror}); start them by python -m data.sites "
                f"--port {port}, or tell by --sites_port where they are"
            ) from None


@dataclass
class Campaign:
    """The work left, shared by all sessions."""

    config: CollectionConfig
    tasks: Sequence[Task]
    runs: Sequence[int | None]
    judge: Judge | None
    policy: Policy
    fleet: Fleet
    faults: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._left = deque(self.tasks)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=Console(stderr=True, highlight=False))
        self._bar = self._progress.add_task("tasks", total=len(self.tasks))

    async def sail(self) -> None:
        """Start every session and wait until no task is left."""
        with self._progress:
            sessions = [asyncio.create_task(self._session(number)) for number in range(self.config.num_sessions)]
            try:
                await asyncio.gather(*sessions)
            finally:
                for session in sessions:
                    session.cancel()
                await asyncio.gather(*sessions, return_exceptions=True)

    async def _session(self, number: int) -> None:
        while self._left:
            task = self._left.popleft()
            folders = {run: self.config.output_dir / folder_name(task.id, run) for run in self.runs}
            solved = any(_is_success(read_outcome(folder)) for folder in folders.values() if is_complete(folder))
            for run, folder in folders.items():
                if solved:
                    break
                solved = _is_success(await self._try(number, task, run, folder))
            self._progress.advance(self._bar)

    async def _try(self, session: int, task: Task, run: int | None, folder: Path) -> Outcome | None:
        """The outcome of one try, kept from an earlier run or taken now; None when nobody judges."""
        if not _is_kept(folder):
            shutil.rmtree(folder, ignore_errors=True)
            await self._take(session, task, run, folder)
        if (outcome := _fault_of(folder)) is None and self.judge is not None:
            outcome = await asyncio.to_thread(judge_once, self.judge, task, folder)
        return outcome

    async def _take(self, session: int, task: Task, run: int | None, folder: Path) -> None:
        """One trajectory; faults end it as invalid."""
        downloads = self.config.download_dir / folder.name
        shutil.rmtree(downloads, ignore_errors=True)
        seed = None if self.config.seed is None else self.config.seed + (run or 0)
        writer: TrajectoryWriter | None = None
        try:
            async with self.fleet.page(session, downloads) as page:
                writer = TrajectoryWriter(folder, task, self._provenance(page, seed), self.policy.system_prompt, run)
                await run_episode(page, self.policy, task, writer, self.config.limits(), seed)
            self.faults = 0
            self._say(folder, f"{len(writer.steps)} steps")
        except UserError:
            raise
        except OSError as error:  # a full disk, say
            raise UserError(f"{folder} cannot be written: {error}; what is complete is kept") from error
        except Exception as fault:  # the three known kinds, and our own bugs: neither is the agent's fault
            writer = writer or TrajectoryWriter(folder, task, {}, self.policy.system_prompt, run)
            writer.log(traceback.format_exc())
            reason = f"{type(fault).__name__.removesuffix('Error').lower()}: {fault}"  # such as "page: ..."
            writer.finish(INVALID, reason=reason)
            write_outcome(folder, Outcome(Verdict.INVALID, reason))
            self._say(folder, f"invalid, {reason}")
            self._count(fault, task)
        finally:
            if writer is not None:
                writer.close()

    def _count(self, fault: Exception, task: Task) -> None:
        host = urlsplit(task.web).hostname or ""
        elsewhere = isinstance(fault, PageError) and not (host.endswith("localhost") or host.startswith("127."))
        if not elsewhere and not isinstance(fault, PolicyError):  # the policy counts its own
            self.faults += 1
        if self.faults >= MAX_FAULTS:
            raise UserError(
                f"{self.faults} trajectories in a row were lost to faults on this machine, the last one: {fault}; "
                "put it right and run the same command again: what is complete is kept"
            )

    def _provenance(self, page: Page, seed: int | None) -> dict[str, Any]:
        config = self.config
        return {
            "policy": self.policy.name,
            "temperature": config.temperature,
            "seed": seed,
            "max_iter": config.max_iter,
            "max_attached_imgs": config.max_attached_imgs,
            "text_only": config.text_only,
            "browser": page.browser.version,
            "viewport": [config.window_width, config.window_height],
            "tree_visibility": config.tree_visibility,
        }

    def _say(self, folder: Path, text: str) -> None:
        self._progress.console.print(f"{folder.name}: {text}", soft_wrap=True, markup=False)


def _is_success(outcome: Outcome | None) -> bool:
    return outcome is not None and outcome.success


def _is_kept(folder: Path) -> bool:
    return is_complete(folder) and _fault_of(folder) is None


def _fault_of(folder: Path) -> Outcome | None:
    """The outcome of a trajectory that ended by a fault."""
    path = folder / "trajectory.json"
    summary = read_json(path) if path.exists() else {}
    return Outcome(Verdict.INVALID, summary["reason"]) if summary.get("status") == INVALID else None

"""Collect trajectories of many tasks at once, resume where a run stopped, and never lose or repeat one.

A folder is complete once `trajectory.json` is there. On a restart complete folders are kept, incomplete ones discarded
and taken again, and so are those that ended by a fault (`invalid`): nobody learns from them, and it may have passed.
Any number of collectors may work on one output folder; a lease on each task keeps them apart.
"""

import asyncio
import re
import shutil
import sys
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from collection.agent.episode import run_episode
from collection.agent.policy import Policy, PolicyError
from collection.campaign.accounting import check_action_space, note_tasks
from collection.campaign.backends import Backends
from collection.campaign.lease import leases
from collection.campaign.options import downloads_of, limits_of, make_pace, make_policy, num_sessions
from collection.campaign.pacing import PacedPolicy, site_of
from collection.campaign.progress import CampaignProgress
from collection.campaign.schedule import Schedule
from collection.config.commands import CollectionConfig
from collection.endpoints.keys import is_loopback
from collection.judges import Judge
from collection.judges.judging import is_judge_fault, judge_once
from common.background import await_in_thread
from common.defaults import short
from common.errors import UserError
from common.files import read_json
from common.flags import narrowed
from common.seeds import derive_seed
from data.action_spaces import NUMBERS
from data.outcome import Outcome, Verdict
from data.sampling import SamplingRequest
from data.task import Task
from data.trajectory import BLOCKED, INVALID, folder_name, is_complete, read_outcome, write_outcome
from data.trajectory_writer import TrajectoryWriter
from environments.environment import Environment, Open
from environments.faults import BlockedError, PageError
from environments.world import World

_USERINFO = re.compile(r"//[^/@\s]+@")  # user and password in an address are nobody's business
MAX_FAULTS = 5  # in a row, of the browser or of websites on this machine: then something here is broken


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
    policy = make_policy(config)
    try:
        await policy.check()
        sessions = min(num_sessions(config), len(tasks))
        with leases(config.output_dir) as held:
            async with world.environments(tasks, sessions) as open_environment:
                note_tasks(config.output_dir, tasks)
                schedule = Schedule(tasks, held, config.site_concurrency)
                campaign = Campaign(config, world, schedule, runs, judge, policy, open_environment, sessions, all_tries)
                await campaign.run()
    except asyncio.CancelledError:  # Ctrl-C
        print(
            f"stopped; what is complete is in {short(config.output_dir.absolute())}, and the same command goes on from "
            "there",
            file=sys.stderr,
        )
        raise
    finally:
        await policy.close()


@dataclass
class Campaign:
    """The work left, shared by all sessions."""

    config: CollectionConfig
    world: World
    schedule: Schedule
    runs: Sequence[int | None]
    judge: Judge | None
    policy: Policy
    open_environment: Open
    num_sessions: int
    all_tries: bool = False
    faults: set[int | str] = field(default_factory=set, init=False)
    retries: Counter[str] = field(default_factory=Counter, init=False)

    def __post_init__(self) -> None:
        self._pace = make_pace(self.config)
        self._downloads = downloads_of(self.config)
        self._progress = CampaignProgress(len(self.schedule.tasks), self._pace)
        self._backends = Backends(self.config.output_dir, self.world.restore, self._progress.say)

    async def run(self) -> None:
        """Start every session and wait until no task is left."""
        with self._progress:
            sessions = [asyncio.create_task(self._session(number)) for number in range(self.num_sessions)]
            try:
                await asyncio.gather(*sessions)
            finally:
                for session in sessions:
                    session.cancel()
                await asyncio.gather(*sessions, return_exceptions=True)

    async def _session(self, number: int) -> None:
        while task := await self.schedule.take():
            again = False
            try:
                again = await self._work_on(number, task)
            finally:
                await self.schedule.done(task, again)

    async def _work_on(self, session: int, task: Task) -> bool:
        """All tries of a task; whether a fault of its last one should be tried again later."""
        folders = {run: self.config.output_dir / folder_name(task.id, run) for run in self.runs}
        outcome: Outcome | None = None
        is_fault = False
        solved = any(_is_success(read_outcome(folder)) for folder in folders.values() if is_complete(folder))
        for run, folder in folders.items():
            if solved and not self.all_tries:
                break
            outcome = await self._try(session, task, run, folder)
            solved = solved or _is_success(outcome)
            is_fault = (is_fault and self.all_tries) or (outcome is not None and outcome.verdict is Verdict.INVALID)
            if outcome is not None and is_judge_fault(outcome):
                break  # perhaps it is solved: it is judged again before it is tried again
        if is_fault and self.retries[task.id] < self.config.max_fault_retries:
            self.retries[task.id] += 1
            return True
        self._progress.task_done("solved" if solved else outcome.verdict if outcome else "taken")
        return False

    async def _try(self, session: int, task: Task, run: int | None, folder: Path) -> Outcome | None:
        """The outcome of one try, kept from an earlier run or taken now; None when nobody judges."""
        is_new = not _is_kept(folder)
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)
            await self._backends.before(task)
            await self._take(session, task, run, folder)
        if (outcome := _fault_of(folder)) is None and self.judge is not None:
            # A slow judge holds up the session that waits for it, and nothing else.
            outcome = await await_in_thread(judge_once, self.judge, task, folder)
        if is_new:
            await self._backends.after(task)
        return outcome

    async def _take(self, session: int, task: Task, run: int | None, folder: Path) -> None:
        """One trajectory; faults end it as invalid."""
        downloads = self._downloads / folder.name
        shutil.rmtree(downloads, ignore_errors=True)
        seed = None if self.config.seed is None else derive_seed(self.config.seed, task.id, run)
        writer: TrajectoryWriter | None = None
        environment: Environment | None = None
        try:
            async with self._pace.seat(), await self.open_environment(session, downloads) as environment:
                provenance = self._provenance(environment, seed, task)
                writer = TrajectoryWriter(folder, task, provenance, self.policy.system_prompt, run)
                policy = PacedPolicy(self.policy, environment, self._pace)
                self._backends.begin(task)
                with self._progress.active():
                    await self._pace.turn(site_of(task))
                    await run_episode(environment, policy, task, writer, limits_of(self.config), seed)
            self.faults.clear()
            self._say(folder, f"{len(writer.steps)} steps")
        except BlockedError as wall:
            writer.finish(BLOCKED, reason=str(wall))
            write_outcome(folder, Outcome(Verdict.BLOCKED, str(wall)))
            self.faults.clear()
            self._say(folder, f"blocked, {wall}")
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
            self._count(fault, task, environment)
        finally:
            if writer is not None:
                writer.close()

    def _count(self, fault: Exception, task: Task, environment: Environment | None) -> None:
        """Stop when nothing works here any more. A browser that died is one fault, however many sessions it had; so is
        a website elsewhere whose pages crash, hang or ask for ever: it must not end the run of all others."""
        is_own = is_loopback(urlsplit(task.web).hostname)
        if not isinstance(fault, PolicyError) and (is_own or not isinstance(fault, PageError)):  # policies count theirs
            dead_host = environment and environment.dead_host
            by_website = environment is not None and not is_own
            self.faults.add(id(dead_host) if dead_host else site_of(task) if by_website else len(self.faults))
        if len(self.faults) >= MAX_FAULTS:
            raise UserError(
                f"{len(self.faults)} faults on this machine in a row, the last one: {fault}; "
                "put it right and run the same command again: what is complete is kept"
            )

    def _provenance(self, environment: Environment, seed: int | None, task: Task) -> dict[str, Any]:
        config = self.config
        spoiled = self._backends.contaminated_by(task)
        return {
            **({"contaminated_by": spoiled} if spoiled else {}),
            "policy": _USERINFO.sub("//", self.policy.name),
            "sampling": narrowed(SamplingRequest, config).asked(None),
            "seed": seed,
            "max_iter": config.max_iter,
            "max_attached_imgs": config.max_attached_imgs,
            "text_only": config.text_only,
            "hide": config.hide,
            "prompt": config.asked_with,
            **({} if config.action_space == NUMBERS else {"action_space": config.action_space}),
            **environment.provenance,
        }

    def _say(self, folder: Path, text: str) -> None:
        self._progress.say(f"{folder.name}: {text}")


def _is_success(outcome: Outcome | None) -> bool:
    return outcome is not None and outcome.success


def _is_kept(folder: Path) -> bool:
    return is_complete(folder) and _fault_of(folder) is None


def _fault_of(folder: Path) -> Outcome | None:
    """The outcome of a trajectory that ended by a fault."""
    path = folder / "trajectory.json"
    summary = read_json(path) if path.exists() else {}
    return Outcome(Verdict.INVALID, summary["reason"]) if summary.get("status") == INVALID else None

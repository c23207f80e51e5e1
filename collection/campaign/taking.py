"""One trajectory in an environment of its own, from the task to a complete folder, whatever ends it."""

import contextlib
import re
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from collection.agent.episode import run_episode
from collection.agent.policy import Policy, PolicyError
from collection.campaign.options import limits_of
from collection.campaign.pacing import Pace, PacedPolicy, site_of
from collection.config.commands import PolicyFlags
from collection.endpoints.keys import is_loopback
from common.errors import UserError
from common.full_disk import full_disk_error
from common.options.flags import narrowed
from common.seeds import derive_seed
from data.action_spaces import NUMBERS
from data.outcome import Outcome, Verdict
from data.sampling import SamplingRequest
from data.task import Task
from data.trajectory import BLOCKED, INVALID, folder_name, write_outcome
from data.trajectory_writer import TrajectoryWriter
from environments.environment import Environment, Open
from environments.faults import BlockedError, PageError

_USERINFO = re.compile(r"//[^/@\s]+@")  # user and password in an address are nobody's business
MAX_FAULTS = 5  # in a row, of the browser or of websites on this machine: then something here is broken


@dataclass(frozen=True)
class Try:
    """The `run`-th try of a task, None where there is but one. `contaminated_by` is the task that may have changed what
    this one finds, or "". `group` is the number of the tries that it is compared with, where a task has several such
    groups: no two of them share random numbers."""

    task: Task
    run: int | None = None
    contaminated_by: str = ""
    group: int | None = None

    @property
    def name(self) -> str:
        """Of its folder."""
        return folder_name(self.task.id, self.run)


@dataclass(frozen=True)
class Taken:
    """What came of a try. `page_fault`: its website did not answer, or its page broke."""

    said: str
    num_steps: int
    page_fault: bool = False


class LostError(Exception):
    """A collector is gone, with what it was taking."""


class NeverTakenError(LostError):
    """It was gone before."""


class Collector(Protocol):
    """What takes trajectories, `num_sessions` at the same time."""

    num_sessions: int

    async def take(self, session: int, wanted: Try, folder: Path, downloads: Path) -> Taken:
        """Leave a complete `folder`, and what was downloaded in `downloads`; neither is there before.

        Raises:
            LostError: there is no folder, and this collector will not make one.
            UserError: nothing works here; what is complete is kept.
        """
        ...


Join = Callable[[Callable[[Collector], None]], Coroutine[Any, Any, None]]
"""Calls what it is given with each collector that is ready, also with those that come later."""


@dataclass
class Taker:
    """The collector of this process."""

    config: PolicyFlags
    max_iter: int
    policy: Policy
    open_environment: Open
    pace: Pace
    num_sessions: int
    _faults: set[int | str] = field(default_factory=set, init=False)

    async def take(self, session: int, wanted: Try, folder: Path, downloads: Path) -> Taken:
        """As `Collector`; faults end a trajectory as invalid."""
        try:
            return await self._take(session, wanted, folder, downloads)
        except OSError as error:
            if full := full_disk_error(error):
                raise full from error
            raise UserError(f"{folder} cannot be written: {error}; what is complete is kept") from error

    async def _take(self, session: int, wanted: Try, folder: Path, downloads: Path) -> Taken:
        task, run = wanted.task, wanted.run
        group = () if wanted.group is None else (wanted.group,)
        seed = None if self.config.seed is None else derive_seed(self.config.seed, task.id, run, *group)
        writer: TrajectoryWriter | None = None
        environment: Environment | None = None
        try:
            async with self.pace.seat(), await self.open_environment(session, downloads) as environment:
                provenance = self._provenance(environment, seed, wanted)
                writer = TrajectoryWriter(folder, task, provenance, self.policy.system_prompt, run)
                policy = PacedPolicy(self.policy, environment, self.pace)
                await self.pace.turn(site_of(task))
                await run_episode(environment, policy, task, writer, limits_of(self.config, self.max_iter), seed)
            self._faults.clear()
            num_steps = len(writer.steps)
            return Taken(f"{num_steps} step{'s' * (num_steps != 1)}", num_steps)
        except BlockedError as wall:
            writer = writer or TrajectoryWriter(folder, task, {}, self.policy.system_prompt, run)
            writer.finish(BLOCKED, reason=str(wall))
            write_outcome(folder, Outcome(Verdict.BLOCKED, str(wall)))
            self._faults.clear()
            return Taken(f"blocked, {wall}", len(writer.steps))
        except (UserError, OSError):  # nothing works here; a full disk, say
            raise
        except Exception as fault:  # the three known kinds, and our own bugs: neither is the agent's fault
            writer = writer or TrajectoryWriter(folder, task, {}, self.policy.system_prompt, run)
            writer.log(traceback.format_exc())
            reason = f"{type(fault).__name__.removesuffix('Error').lower()}: {fault}"  # such as "page: ..."
            writer.finish(INVALID, reason=reason)
            write_outcome(folder, Outcome(Verdict.INVALID, reason))
            self._count(fault, task, environment)
            return Taken(f"invalid, {reason}", len(writer.steps), isinstance(fault, PageError))
        finally:
            if writer is not None:
                with contextlib.suppress(OSError):  # what it could not write before is left again
                    writer.close()

    def _count(self, fault: Exception, task: Task, environment: Environment | None) -> None:
        """Stop when nothing works here any more. A browser that died is one fault, however many sessions it had; so is
        a website elsewhere whose pages crash, hang or ask for ever: it must not end the run of all others."""
        is_own = is_loopback(urlsplit(task.web).hostname)
        if not isinstance(fault, PolicyError) and (is_own or not isinstance(fault, PageError)):  # policies count theirs
            dead_host = environment and environment.dead_host
            by_website = environment is not None and not is_own
            self._faults.add(id(dead_host) if dead_host else site_of(task) if by_website else len(self._faults))
        if len(self._faults) >= MAX_FAULTS:
            raise UserError(
                f"{len(self._faults)} faults on this machine in a row, the last one: {fault}; "
                "put it right and run the same command again: what is complete is kept"
            )

    def _provenance(self, environment: Environment, seed: int | None, wanted: Try) -> dict[str, Any]:
        config = self.config
        return {
            **({"contaminated_by": wanted.contaminated_by} if wanted.contaminated_by else {}),
            "policy": _USERINFO.sub("//", self.policy.name),
            "sampling": narrowed(SamplingRequest, config).asked(None),
            "seed": seed,
            "max_iter": self.max_iter,
            "max_attached_imgs": config.max_attached_imgs,
            "text_only": config.text_only,
            "hide": config.hide,
            "prompt": config.asked_with,
            **({} if config.action_space == NUMBERS else {"action_space": config.action_space}),
            **environment.provenance,
        }

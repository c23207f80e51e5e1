"""As jobs of a SLURM cluster whose nodes share this machine's files: docs/howto/clusters.md.

Nothing is remembered but by SLURM: a job is found again by its name, so a run that was killed waits for what it had
started, and starts nothing twice.
"""

import contextlib
import dataclasses
import os
import random
import secrets
import shlex
import shutil
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from common import progress
from common.errors import UserError
from common.network.own_services import is_up
from common.processes import LISTENING, reach_own_hosts_directly
from elcano.console import console, live_line
from elcano.executors.executor import ADDRESS, Command
from elcano.executors.local import END_TIMEOUT_S, HEALTH_TIMEOUT_S, START_TIMEOUT_S, last_words, ports
from elcano.resources import ANY, Needs, Resources
from elcano.slurm import jobs
from elcano.slurm.batch_file import batch_file, job_name, mark
from elcano.slurm.jobs import JobState

_KEY = "ELCANO_API_KEY"
_LOOP = "127.0.0.1"
_PORTS = range(20000, 32768)
"""Below those that Linux gives to outgoing connections; which are free on a node is not known before it is chosen."""
_NUM_PORTS = 5
"""So many are tried."""
_SERVICE_END_S = 60.0
_NUM_REFUSED = 10
"""So often in a row: until the scheduler has looked at a new job, its reason is a preliminary one."""


class Executor:
    """Each command is a job, `<log>.sbatch` the file that it was submitted with."""

    runs_beside = False

    def __init__(self) -> None:
        if not shutil.which("sbatch"):
            raise UserError("--executor slurm: no sbatch on this machine; start the run where SLURM's commands are")
        self._submitted: set[str] = set()
        self._node = ""  # of the services that listen on loopback: what uses them runs there
        self._key = os.environ.get(_KEY) or secrets.token_urlsafe(24)  # others on the cluster reach the servers

    def check(self, needs: Needs) -> None:
        """Nothing: what a cluster has, and whose it is, SLURM says of each job that is submitted."""

    def run(self, command: Command, resources: Resources = ANY) -> None:
        """As `elcano.executors.executor.Executor`."""
        told = {**command.variables, progress.VARIABLE: str(command.report)}
        reporting = dataclasses.replace(command, variables=told)
        text = batch_file(reporting, resources, self._node)
        console.print(f"  [dim]$ {command.typed}[/dim]\n  [dim]log: {command.log}[/dim]", soft_wrap=True)
        job = self._found(command.log, text)
        if not job:
            command.report.unlink(missing_ok=True)
            job = self._submit(command, text)
        try:
            with live_line() as show:
                found = _states(job, lambda: show({command.name: progress.read(command.report)}))
                [state] = deque(found, maxlen=1)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                console.print(f"  stopping: waiting until job {job} has saved its work; Ctrl-C again stops it at once")
            _end([job], END_TIMEOUT_S)
            raise
        if state.name != "COMPLETED":
            raise UserError(f"`{shlex.join(command.words[:3])} ...` {_ending(job, state, command.log)}")

    @contextlib.contextmanager
    def service(
        self, command: Callable[[str, int], Command], health: str, resources: Resources = ANY, wanted_port: int = 0
    ) -> Iterator[str]:
        """As `elcano.executors.executor.Executor`. What listens on loopback alone runs on this machine, and so does
        every command while it does."""
        first = command(ADDRESS, 0)
        self._end_leftovers(first.log)
        on_loopback = not first.listens_on_node
        node, host = (_this_node(), _LOOP) if on_loopback else ("", ADDRESS)
        before = self._node
        for port in ports(wanted_port) if on_loopback else random.sample(_PORTS, _NUM_PORTS):
            started = command(host, port)
            started.listening.unlink(missing_ok=True)
            told = {**started.variables, LISTENING: str(started.listening.resolve())}
            job = self._submit(started, batch_file(dataclasses.replace(started, variables=told), resources, node))
            try:
                if url := _wait_until_healthy(job, started, health, _LOOP if node else ""):
                    self._node = node or before
                    yield url
                    return
            finally:
                self._node = before
                jobs.cancel(job)
                _wait([job], _SERVICE_END_S)
        raise UserError(f"a service found {_NUM_PORTS} ports taken on its nodes (log: {first.log})")

    def _submit(self, command: Command, text: str) -> str:
        file = command.log.with_suffix(".sbatch")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        with open(command.log, "a") as log:
            log.write(f"$ {command.typed}\n")
        try:
            job = jobs.submit(file, {_KEY: self._key})
        except BaseException:  # it may be there although its number was not heard
            with contextlib.suppress(UserError):
                for job in filter(None, [jobs.under_way(mark(command.log)).get(job_name(command.log))]):
                    jobs.cancel(job)
            raise
        self._submitted.add(job)
        return job

    def _found(self, log: Path, text: str) -> str:
        """The job of an earlier start that does the same, if it has not ended; one that does another thing is ended."""
        job = jobs.under_way(mark(log)).get(job_name(log), "")
        file = log.with_suffix(".sbatch")
        if not job or (file.exists() and file.read_text() == text):
            if job:
                console.print(f"  job {job} of an earlier start does this already; waiting for it")
            return job
        console.print(f"  job {job} of an earlier start does this in another way; ending it")
        _end([job], END_TIMEOUT_S)
        return ""

    def _end_leftovers(self, log: Path) -> None:
        """Jobs of an earlier start beside this log: services, and what uses them, which would not find new ones."""
        left = [job for job in jobs.under_way(mark(log)).values() if job not in self._submitted]
        if left:
            console.print(f"  ending what an earlier start left running: {', '.join(left)}")
            _end(left, END_TIMEOUT_S)


def _states(job: str, meanwhile: Callable[[], None]) -> Iterator[JobState]:
    """What becomes of the job, up to its end; changes are said. `UserError` for one that would never start.

    The controller, which all users of a cluster share, is asked after a second, then less often, up to every 10 s.
    """
    begun, said, num_refused = time.monotonic(), "", 0
    while True:
        state, asked = jobs.ask(job), time.monotonic()
        if state.name not in (said, "COMPLETED", "COMPLETING") and str(state) != "PENDING":
            console.print(f"  [dim]job {job}: {state}{f' on {state.node}' if state.node else ''}[/dim]")
            said = state.name
        num_refused = num_refused + 1 if state.refused else 0
        if num_refused == _NUM_REFUSED:
            raise UserError(
                f"job {job} would never start: {state.reason}; ask for other resources or another partition"
            )
        yield state
        if state.ended:
            return
        while time.monotonic() - asked < min(10.0, 1 + (asked - begun) / 20):
            meanwhile()
            time.sleep(0.5)


def _ending(job: str, state: JobState, log: Path) -> str:
    if state.name == "FAILED" and not state.refused:
        return f"ended with code {state.exit_code}: {last_words(log)} (log: {log})"
    where = f" on {state.node}" if state.node else ""
    return f"was ended by SLURM: job {job} is {state}{where}; the same command continues (log: {log})"


def _end(left: list[str], timeout_s: float) -> None:
    """Ask them to end, wait while they save what they have, and leave nothing of them running."""
    try:
        for job in left:
            jobs.ask_to_end(job)
        with contextlib.suppress(KeyboardInterrupt):  # a second Ctrl-C waits no longer
            _wait(left, timeout_s)
    finally:
        for job in left:
            jobs.cancel(job)


def _wait(left: list[str], timeout_s: float) -> None:
    """Until they have ended, or so long."""
    deadline = time.monotonic() + timeout_s
    for job in left:
        with contextlib.suppress(UserError):  # forgotten: ended long ago
            while not jobs.ask(job).ended and time.monotonic() < deadline:
                time.sleep(1)


def _wait_until_healthy(job: str, service: Command, health: str, host: str) -> str:
    """Its base URL, empty where its port is another process's. The time in which a service must answer begins with the
    job."""
    deadline, log = None, service.log
    with live_line() as show:
        for state in _states(job, lambda: show({})):
            port = service.listening.read_text() if service.listening.exists() else ""
            if port == "0":
                return ""
            if state.ended:
                raise UserError(f"a service {_ending(job, state, log)}")
            if state.name != "RUNNING":
                continue
            deadline = deadline or time.monotonic() + START_TIMEOUT_S
            there = host or jobs.address(state.node)
            reach_own_hosts_directly(there)
            url = f"http://{there}:{port}"
            if port and is_up(url + health, HEALTH_TIMEOUT_S):
                return url
            if time.monotonic() > deadline:
                silent = f"no answer from {url}" if port else f"a service listens nowhere on {there}"
                raise UserError(f"{silent} within {START_TIMEOUT_S:.0f} s of job {job} (log: {log})")
    raise AssertionError("a job's states end with one that has ended")


def _this_node() -> str:
    """This machine's name in the cluster."""
    name = os.environ.get("SLURMD_NODENAME") or socket.gethostname().split(".")[0]
    if not jobs.address(name):
        raise UserError(
            f"--executor slurm: what listens on loopback alone (the embedded websites) needs browsers and this run "
            f"beside it, but {name} is no node of the cluster; start the run on one of its nodes"
        )
    return name

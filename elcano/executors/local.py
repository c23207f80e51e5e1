"""On this machine, as child processes that end with this one."""

import contextlib
import dataclasses
import os
import shlex
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from common import progress
from common.errors import UserError
from common.network.own_services import is_up
from common.processes import LISTENING
from elcano.child import begin, kill
from elcano.console import console, live_line
from elcano.devices import visible_gpus
from elcano.executors.executor import Command
from elcano.resources import ANY, Needs, Resources

START_TIMEOUT_S = 300.0
HEALTH_TIMEOUT_S = 5.0
END_TIMEOUT_S = 300.0
"""For a command that was asked to end: training saves a checkpoint first."""
_LOOP = "127.0.0.1"
_NICENESS_BESIDE = 5
"""What a person waits for comes first: a test, whose result is read, before the exploration beside it. Browsers begin
sessions of their own at equal rights, and so do requests to one server: it is the collector that stands back."""


class Executor:
    """The cores that a command needs are the threads it computes with, the GPUs those it sees: the first of this
    machine's. Nothing is reserved: a command and the services beside it may share them."""

    runs_beside = True

    def __init__(self) -> None:
        self._under_way: list[tuple[Command, subprocess.Popen[bytes]]] = []

    def check(self, needs: Needs) -> None:
        """As `elcano.executors.executor.Executor`."""
        for kind, resources in needs.by_kind().items():
            _check_nodes(resources)
            _check_gpus(resources, kind)

    def run(self, command: Command, resources: Resources = ANY) -> None:
        """As `elcano.executors.executor.Executor`."""
        with self._running(command, resources):
            pass

    def beside(self, command: Command, resources: Resources = ANY) -> contextlib.AbstractContextManager[None]:
        """As `elcano.executors.executor.Executor`."""
        return self._running(command, resources, _NICENESS_BESIDE)

    @contextlib.contextmanager
    def _running(self, command: Command, resources: Resources, niceness: int = 0) -> Iterator[None]:
        _check_nodes(resources)
        command = _limited(command, resources)
        console.print(f"  [dim]$ {command.typed}[/dim]\n  [dim]log: {command.log}[/dim]", soft_wrap=True)
        command.report.unlink(missing_ok=True)
        process = begin(command, {**os.environ, progress.VARIABLE: str(command.report)}, niceness)
        self._under_way.append((command, process))
        try:
            yield
            with live_line() as show:
                while process.poll() is None:
                    show({each.name: progress.read(each.report) for each, _ in self._under_way})
                    for other in self._under_way:  # one that this one runs in may have failed
                        _check_end(*other)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(0.5)
        except BaseException as error:
            if not isinstance(error, Exception):
                what = shlex.join(command.words[:2])
                console.print(f"  stopping: waiting until `{what}` has saved its work; Ctrl-C again stops it at once")
            end(process)
            raise
        finally:
            self._under_way.remove((command, process))
        _check_end(command, process)

    @contextlib.contextmanager
    def service(
        self, command: Callable[[str, int], Command], health: str, resources: Resources = ANY, wanted_port: int = 0
    ) -> Iterator[str]:
        """As `elcano.executors.executor.Executor`."""
        for port in ports(wanted_port):
            started = _limited(command(_LOOP, port), resources)
            started.listening.unlink(missing_ok=True)
            process = begin(started, {**os.environ, LISTENING: str(started.listening.resolve())})
            try:
                if found := wait_until_listening(process.poll, started):
                    url = f"http://{_LOOP}:{found}"
                    wait_until_healthy(process.poll, url + health, started.log)
                    yield url
                    return
            finally:
                end(process, timeout_s=10)


def _check_nodes(resources: Resources) -> None:
    if resources.num_nodes > 1:
        raise UserError(
            f"needs.training: num_nodes={resources.num_nodes}, but this machine is one; use --executor slurm or ray"
        )


def _check_gpus(resources: Resources, what: str = "a command") -> None:
    if (num_gpus := len(visible_gpus())) < resources.num_gpus:
        raise UserError(f"{what} needs {resources.num_gpus} GPUs, and {num_gpus} are visible on this machine")


def _limited(command: Command, resources: Resources) -> Command:
    """The command with the variables that keep it to its resources."""
    limits = {"OMP_NUM_THREADS": str(resources.num_cores)} if resources.num_cores else {}
    if resources.num_gpus:
        _check_gpus(resources)
        limits["CUDA_VISIBLE_DEVICES"] = ",".join(visible_gpus()[: resources.num_gpus])
    return dataclasses.replace(command, variables={**limits, **command.variables})


def _check_end(command: Command, process: subprocess.Popen[bytes]) -> None:
    """Raise a UserError where it has failed."""
    if code := process.poll():
        what = f"`{shlex.join(command.words[:3])} ...` ended with code {code}"
        raise UserError(f"{what}: {last_words(command.log)} (log: {command.log})")


def end(process: subprocess.Popen[bytes], timeout_s: float = END_TIMEOUT_S) -> None:
    """Ask it to end, wait while it saves what it has, and leave nothing of it behind."""
    try:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):  # a second Ctrl-C waits no longer
            process.wait(timeout_s)
    finally:
        kill(process)


def ports(wanted: int) -> list[int]:
    """Those that a service is told of in turn, until one is not another process's; at 0 it finds a free one."""
    return [wanted, 0] if wanted else [0]


def wait_until_listening(poll: Callable[[], int | None], service: Command) -> int:
    """The port at which it listens; 0 where the one that it was told of is another process's. `poll` as below.

    Raises:
        UserError: it ends before, or takes too long.
    """
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        code = poll()
        if service.listening.exists():
            return int(service.listening.read_text())
        if code is not None:
            raise ended_at_start(code, service.log)
        time.sleep(0.05)
    raise UserError(f"a service listens nowhere after {START_TIMEOUT_S:.0f} s (log: {service.log})")


def wait_until_healthy(poll: Callable[[], int | None], url: str, log: Path) -> None:
    """Until a service answers at `url`. `poll` says with which code it has ended, if it has.

    Raises:
        UserError: it ends before, or takes too long.
    """
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if (code := poll()) is not None:
            raise ended_at_start(code, log)
        if is_up(url, HEALTH_TIMEOUT_S):
            return
        time.sleep(0.1)
    raise UserError(f"no answer from {url} within {START_TIMEOUT_S:.0f} s (log: {log})")


def ended_at_start(code: int, log: Path) -> UserError:
    """What is said of a service that is not there."""
    return UserError(f"a service ended at start with code {code}: {last_words(log)} (log: {log})")


def last_words(log: Path) -> str:
    """The last `error: ...` line of a log's last command, else its last line that is not blank."""
    with open(log, errors="replace") as file:
        lines = [line.strip() for line in deque(file, maxlen=200) if line.strip()]
    if begins := [number for number, line in enumerate(lines) if line.startswith("$ ")]:
        lines = lines[begins[-1] + 1 :]
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return (errors or lines or ["no output"])[-1]

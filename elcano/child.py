"""A command as a child process: its output in its log, ended with all that it began."""

import contextlib
import functools
import os
import signal
import subprocess
from collections.abc import Mapping

from common.defaults import ROOT
from common.processes import die_with_parent
from elcano.executors.executor import Command


def begin(command: Command, environment: Mapping[str, str], niceness: int = 0) -> subprocess.Popen[bytes]:
    """The process, in a session of its own: Ctrl-C is for us, who end commands and services in their order. It dies
    with this process. `niceness` is added to this process's own."""
    command.log.parent.mkdir(parents=True, exist_ok=True)
    with open(command.log, "a") as file:
        file.write(f"$ {command.typed}\n")
        file.flush()
        return subprocess.Popen(
            command.words,
            stdout=file,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=ROOT,
            env={**environment, **command.variables},
            start_new_session=True,
            preexec_fn=functools.partial(_prepare, niceness),
        )


def kill(process: subprocess.Popen[bytes]) -> None:
    """With all that it began and that stayed in its session's group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _prepare(niceness: int) -> None:
    die_with_parent()
    if niceness:
        os.nice(niceness)
        with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as file:
            file.write(str(niceness))  # where Linux shares cores out by session, niceness counts within one alone
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # Ray's processes block SIGINT, which children inherit

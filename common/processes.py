"""Child processes that never outlive the run that started them, and how they are reached."""

import contextlib
import ctypes
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from common.defaults import ROOT
from common.errors import UserError
from common.inherited import for_python

LISTENING = "ELCANO_LISTENING"
"""Names the file in which a service says at which port it listens; 0: the one it was told is another process's."""
_PR_SET_PDEATHSIG = 1
_OWN_HOSTS = ("127.0.0.1", "localhost", ".localhost", "::1")


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies, however it dies. Also usable as `preexec_fn`."""
    if not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def allow_many_descriptors() -> None:
    """Raise this process's limit of open files and connections to what the system allows: shells give 1,024, which a
    hostile page or a few hundred clients use up."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with contextlib.suppress(ValueError, OSError):  # where the hard limit says "unlimited" and the system does not
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def reach_own_hosts_directly(*others: str) -> None:
    """Ask no proxy for this machine, in this process and its children: services and endpoints are on it;
    nor for `others`.

    Clusters set http_proxy, and urllib and httpx mind it unless no_proxy names a host.
    """
    present = (os.environ.get("no_proxy") or os.environ.get("NO_PROXY", "")).split(",")
    names = list(dict.fromkeys(name for name in (*map(str.strip, present), *_OWN_HOSTS, *others) if name))
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = "*" if "*" in names else ",".join(names)


def _pass_on(lines: IO[str]) -> None:
    for line in lines:
        sys.stderr.write(line)


def free_port(preferred: int = 0, host: str = "127.0.0.1") -> int:
    """A TCP port of an address of this machine that was free a moment ago: `preferred`, if it was."""
    with hold(preferred, host) as held:
        return held.getsockname()[1]


def hold(preferred: int = 0, host: str = "127.0.0.1") -> socket.socket:
    """A socket that keeps a free TCP port until it is closed: `preferred`, if it is free. Linux gives that port to
    nobody else who asks for any; a program that is told its number may listen there, if it sets SO_REUSEADDR, as
    servers do."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        held.bind((host, preferred))
    except OSError:
        held.bind((host, 0))
    return held


def no_answer(port: int) -> str:
    """Why nothing answers at this port of this machine, "" where something does."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def num_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_each(num_processes: int) -> str:
    """`OMP_NUM_THREADS` of so many processes that compute at the same time here. More threads than cores wait for each
    other, and keep the cores busy with it."""
    return str(max(1, num_cores() // num_processes))


def listen(port: int, host: str = "127.0.0.1") -> socket.socket:
    """A socket listening on `port`, or on a free one when that is 0; `UserError` when the port is taken.

    A process's first call tells whoever waits for it in a file (`LISTENING`), and its children have no such file.
    """
    told = os.environ.pop(LISTENING, "")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # said to be TCP, asyncio turns TCP_NODELAY on: else answers in two packets wait 40 ms for an acknowledgment
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except (OSError, OverflowError) as error:
        listener.close()
        if told:
            _tell(told, 0)
        raise UserError(f"cannot listen on {host}:{port} ({error}); give another --port") from None
    if told:
        _tell(told, listener.getsockname()[1])
    return listener


def _tell(file: str, port: int) -> None:
    """Whole or not at all."""
    told = Path(file)
    begun = told.with_name(f"{told.name}.tmp")
    begun.write_text(str(port))
    begun.replace(told)


def listen_near(preferred: int) -> socket.socket:
    """`listen` on `preferred`, or on a free port where that is taken."""
    try:
        return listen(preferred)
    except UserError:
        return listen(0)


@contextlib.contextmanager
def served(module: str, preferred: int = 0) -> Iterator[int]:
    """Run `python -m module --port PORT` in a process that dies with this one; gives the port, which is the last in the
    first line that it prints: `preferred`, if that is free."""
    for port in (free_port(preferred), 0):  # another may take it in this moment
        command = [sys.executable, "-m", module, "--port", str(port)]
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=for_python(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        assert process.stdout is not None and process.stderr is not None
        if line := process.stdout.readline():
            threading.Thread(target=_pass_on, args=(process.stderr,), daemon=True).start()
            break
        said = process.stderr.read().strip().splitlines()  # of the first port, nobody needs to know
        process.wait()
    else:
        raise UserError(f"{module} did not start: {(said or ['it says nothing'])[-1].removeprefix('error: ')}")
    try:
        yield int(re.findall(r":(\d+)", line)[-1])
    finally:
        process.kill()
        process.wait()

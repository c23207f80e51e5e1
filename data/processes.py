"""Child processes that never outlive the run that started them."""

import contextlib
import ctypes
import signal
import socket
import sys

from data.errors import UserError

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies, however it dies. Also usable as `preexec_fn`."""
    if not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port() -> int:
    """A TCP port on 127.0.0.1 that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listen(port: int, host: str = "127.0.0.1") -> socket.socket:
    """A socket listening on `port`, or on a free one when that is 0; `UserError` when the port is taken."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except (OSError, OverflowError) as error:
        listener.close()
        raise UserError(f"cannot listen on {host}:{port} ({error}); give another --port") from None
    return listener

"""Ports of emulators' consoles: those that no emulator of somebody else has, and that no other run is about to take."""

import contextlib
import socket
from collections.abc import Iterator, Sequence

from common.errors import UserError
from common.processes import free_port

FIRST_PORT = 5554
MOST_EMULATORS = 64  # an emulator takes two of the ports 5554 to 5681


@contextlib.contextmanager
def console_ports(number: int) -> Iterator[Sequence[int]]:
    """So many, which no other run gets until the block ends.

    Raises:
        UserError: there are fewer.
    """
    ports: list[int] = []
    with contextlib.ExitStack() as locks:
        for port in range(FIRST_PORT, FIRST_PORT + 2 * MOST_EMULATORS, 2):
            if len(ports) < number and _is_free(port) and (lock := _locked(port)):
                locks.enter_context(lock)
                ports.append(port)
        if len(ports) < number:
            raise UserError(
                f"other emulators leave room for {len(ports)} of {number}; end some, or give --num_emulators"
            )
        yield ports


def _is_free(port: int) -> bool:
    return free_port(port) == port and free_port(port + 1) == port + 1


def _locked(port: int) -> socket.socket | None:
    """A name that one process of this machine can hold, and that ends with it; no file is left. None: it is held."""
    lock = socket.socket(socket.AF_UNIX)
    try:
        lock.bind(f"\0elcano-emulator-{port}")
    except OSError:
        lock.close()
        return None
    return lock

"""What a service that we started says, by HTTP: its port may be somebody else's by now, so time and bytes are bounded.

Without httpx, which is not everywhere where services are started, and without proxies and redirects.
"""

import contextlib
import http.client
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

MAX_BYTES = 100_000


def is_up(url: str, timeout_s: float) -> bool:
    """Whether a GET is answered by success (2xx)."""
    answer = answer_of(url, timeout_s)
    return answer is not None and 200 <= answer[0] < 300


def answer_of(url: str, timeout_s: float) -> tuple[int, bytes] | None:
    """(status, the first `MAX_BYTES` of its body) of the answer to a GET; None where there is no whole one in time."""
    parts = urlsplit(url)
    if parts.hostname is None:
        return None
    with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout_s)
        with contextlib.closing(connection):
            connection.connect()
            with _hung_up_after(timeout_s, connection.sock) as hung_up:
                connection.request("GET", parts.path or "/")
                answer = connection.getresponse()
                body = answer.read(MAX_BYTES)
                return None if hung_up.is_set() else (answer.status, body)
    return None


@contextlib.contextmanager
def _hung_up_after(timeout_s: float, connection: socket.socket) -> Iterator[threading.Event]:
    """The time-out of a socket is of each read."""
    hung_up = threading.Event()

    def hang_up() -> None:
        hung_up.set()
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(timeout_s, hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield hung_up
    finally:
        timer.cancel()

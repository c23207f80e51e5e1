"""What a reader may do with a hostile file: read it, or refuse it in one line, soon and in little memory."""

import contextlib
import resource
import signal
from collections.abc import Callable, Iterator
from typing import Any

from common.errors import UserError

SECONDS = 10
MEMORY_BYTES = 2**30


class StillReadingError(BaseException):
    """No reader takes it for a fault of its file."""


@contextlib.contextmanager
def limits() -> Iterator[None]:
    """At most ten seconds, and a gigabyte of addresses more than there are."""

    def too_long(*_: object) -> None:
        raise StillReadingError(f"still reading after {SECONDS} s")

    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    before, handler = resource.getrlimit(resource.RLIMIT_AS), signal.signal(signal.SIGALRM, too_long)
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY_BYTES, before[1]))
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


def refusal(read: Callable[[], Any]) -> str:
    """The line by which `read` refuses, "" when it reads; anything else that it raises is a hole."""
    with limits():
        try:
            read()
        except UserError as error:
            assert "\n" not in str(error) and len(str(error)) < 1000
            return str(error)
    return ""

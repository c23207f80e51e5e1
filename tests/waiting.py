"""How tests wait for what happens in other processes."""

import time
from collections.abc import Callable


def wait_until(happened: Callable[[], object], timeout_s: float = 60) -> None:
    """Until it holds; far later than it should take, fail."""
    deadline = time.monotonic() + timeout_s
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)

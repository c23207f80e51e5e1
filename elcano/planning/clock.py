"""An asyncio event loop whose time jumps to the next timer: what sleeps for hours is over at once, in the same order.

Code that tells time by its loop (`asyncio.sleep`, `timeout`, `loop.time()`) runs on it as it is.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class _Jump(selectors.DefaultSelector):
    """Waits for no file: nothing that runs on this loop reads from outside."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list:
        if timeout is None:
            raise RuntimeError("all wait for something that never comes")
        self.now += max(0.0, timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its time is virtual and begins at 0."""

    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)

    def time(self) -> float:
        """Virtual seconds."""
        return self._jump.now


def run_virtually(main: Coroutine[Any, Any, Result]) -> Result:
    """The result of `main`, run on a virtual clock."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)

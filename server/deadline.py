"""Deadline: when a request must be answered, held on the HTTP side, without the engine's help.

The engine looks at deadlines between its steps; it may hang in one, or have ended.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Annotated

from pydantic import Field

from server.engine.engine import Engine
from server.engine.sequence import DeadlineError, EngineDeadError

TimeoutS = Annotated[float, Field(gt=0, allow_inf_nan=False)]  # what a request may ask for

_GRACE_S = 1.0  # the engine frees what the request holds, so it comes first where it can


class Deadline:
    """`timeout_s` from now, inside a running event loop; None: never."""

    def __init__(self, timeout_s: float | None):
        self.timeout_s = timeout_s
        self._ends = None if timeout_s is None else asyncio.get_running_loop().time() + timeout_s + _GRACE_S

    @contextlib.asynccontextmanager
    async def kept(self, engine: Engine) -> AsyncIterator[None]:
        """Raises `DeadlineError` in whoever waits inside for too long."""
        try:
            async with asyncio.timeout_at(self._ends):
                yield
        except TimeoutError:
            if not engine.alive:
                raise EngineDeadError("the engine has stopped running") from None
            raise DeadlineError(f"not answered within {self.timeout_s:g} s") from None

"""An event loop in a thread of its own, for callers that block, such as notebooks, which run a loop themselves."""

import asyncio
import functools
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_in_background(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Its result. All that runs here shares one loop, so that connections made in one call serve in the next."""
    future = asyncio.run_coroutine_threadsafe(coroutine, _loop())
    try:
        return future.result()
    except BaseException:  # Ctrl-C, too
        future.cancel()
        raise


async def await_in_background(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """The same from another loop, which goes on meanwhile."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, _loop()))


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="background loop", daemon=True).start()
    return loop

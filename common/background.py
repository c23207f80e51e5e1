"""Work beside a caller: an event loop in a thread of its own, for notebooks, and threads that nobody waits for."""

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
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


async def await_in_thread(function: Callable[..., Result], *arguments: Any) -> Result:
    """`function(*arguments)` in a thread that no process waits for at its end, other than those of an executor."""
    future: Future[Result] = Future()
    future.set_running_or_notify_cancel()

    def work() -> None:
        try:
            future.set_result(function(*arguments))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return await asyncio.wrap_future(future)


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="background loop", daemon=True).start()
    return loop

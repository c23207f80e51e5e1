"""Streams give back what they hold, whenever their client leaves."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, MutableMapping
from typing import Any

import pytest

from server.streaming import Stream


async def pieces() -> AsyncIterator[str]:
    yield "data: 1\n\n"
    await asyncio.sleep(30)


@pytest.mark.parametrize("spec_version", ["2.3", "2.4"])
@pytest.mark.parametrize("leaves_after", [0, 1, 2])
def test_what_a_stream_holds_is_given_back_once_its_client_left(spec_version: str, leaves_after: int) -> None:
    """After 0 pieces the generator has not even begun: its own `finally` would never run."""
    ended: list[str] = []

    async def go() -> None:
        gone, sent = asyncio.Event(), 0

        async def receive() -> MutableMapping[str, Any]:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(_: MutableMapping[str, Any]) -> None:
            nonlocal sent
            if sent == leaves_after:
                gone.set()
                if spec_version == "2.4":
                    raise OSError("the client hung up")
                await asyncio.sleep(30)
            sent += 1

        async def end() -> None:
            ended.append("once")

        scope = {"type": "http", "asgi": {"spec_version": spec_version}}
        task = asyncio.create_task(Stream(pieces(), end)(scope, receive, send))
        if leaves_after == 2:  # while the next piece is awaited
            await asyncio.sleep(0.05)
            gone.set()
            task.cancel()
        with contextlib.suppress(Exception, asyncio.CancelledError):
            await asyncio.wait_for(task, 10)

    asyncio.run(go())
    assert ended == ["once"]

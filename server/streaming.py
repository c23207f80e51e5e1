"""Clients that leave: a streamed answer gives back what it holds, also when nobody asked for its first piece."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

Answer = TypeVar("Answer")


class ClientGoneError(Exception):
    """The client hung up before its reply was ready."""


async def unless_gone(request: Request, answering: Coroutine[Any, Any, Answer]) -> Answer:
    """Its result; `ClientGoneError`, and it is cancelled, as soon as the client hangs up."""

    async def hung_up() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    answer, gone = asyncio.ensure_future(answering), asyncio.ensure_future(hung_up())
    try:
        await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise ClientGoneError("the client hung up")
        return answer.result()
    finally:
        answer.cancel()
        gone.cancel()


class Stream(StreamingResponse):
    """`on_end` runs once. An async generator's `finally` would not do: it never runs where nobody asked for a piece."""

    def __init__(
        self,
        pieces: AsyncIterator[str | bytes],
        on_end: Callable[[], Awaitable[None]],
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
    ):
        super().__init__(pieces, status_code, headers, "text/event-stream")
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._on_end()

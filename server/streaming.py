"""A streamed answer that gives back what it holds, also when its client left before the first piece was sent."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send


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

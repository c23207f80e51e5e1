"""Clients that begin a request and never end it: uvicorn waits for the rest of a head as long as they like."""

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEAD_TIMEOUT_S = 90.0
"""From the connection, or the reply before, to the end of a request's head; more than idle clients are kept."""


class PromptHTTPProtocol(AutoHTTPProtocol):
    """uvicorn's protocol with a deadline for heads. Bodies have theirs in `RequestLimits`, which can answer by then."""

    loop: asyncio.AbstractEventLoop
    cycle: Any
    transport: asyncio.Transport
    _head_deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._expect_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()  # pyright: ignore[reportAttributeAccessIssue]  # both of uvicorn's protocols have it
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._head_deadline is not None:
            self._head_deadline.cancel()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        if self._head_deadline is not None:
            self._head_deadline.cancel()
        self._head_deadline = self.loop.call_later(HEAD_TIMEOUT_S, self._close_without_head)

    def _close_without_head(self) -> None:
        if self.cycle is None or self.cycle.response_complete:  # a request under way has its own deadline
            self.transport.close()

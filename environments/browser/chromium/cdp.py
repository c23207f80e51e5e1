"""A small Chrome DevTools Protocol client: two pipes per browser, flat sessions, every request with a deadline.

Pipes, because a port of DevTools is open to everybody on the machine, and gives away the browser's user's files.
"""

import asyncio
import contextlib
import itertools
import json
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import orjson

from environments.faults import BrowserError

REQUEST_TIMEOUT_S = 30.0
_CHUNK = 256 * 1024
_END = b"\0"
"""Of a message."""

Params = dict[str, Any]
EventHandler = Callable[[str, Params], None]


class RefusedError(Exception):
    """The browser answered a request with an error, such as a node that is gone."""


def parse(text: str | bytes) -> Params:
    """A message. Pages hold halves of emoji, which are no text: a question mark takes their place."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return orjson.loads(json.dumps(json.loads(text), ensure_ascii=False).encode(errors="replace"))


class Connection:
    """Requests and events of one browser. Event handlers are plain functions and must return at once."""

    def __init__(self, reader: asyncio.StreamReader, ends: tuple[asyncio.ReadTransport, asyncio.WriteTransport]):
        self._messages, (self._read_end, self._write_end) = reader, ends
        self._numbers = itertools.count(1)
        self._waiting: dict[int, tuple[str | None, asyncio.Future[Params]]] = {}
        self._handlers: dict[str, EventHandler] = {}
        self._reader = asyncio.create_task(self._read())
        self.closed = asyncio.Event()

    @classmethod
    async def open(cls, requests: int, answers: int) -> "Connection":
        """Over our ends of a browser's pipes, whose descriptors are the connection's from now on."""
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=_CHUNK)
        files = [os.fdopen(answers, "rb", buffering=0), os.fdopen(requests, "wb", buffering=0)]
        read_end, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), files[0])
        write_end, _ = await loop.connect_write_pipe(asyncio.Protocol, files[1])
        return cls(reader, (read_end, write_end))

    async def send(
        self,
        method: str,
        params: Params | None = None,
        session_id: str | None = None,
        timeout_s: float = REQUEST_TIMEOUT_S,
    ) -> Params:
        """One request and its result; raises as `send_all` does."""
        return (await self.send_all([(method, params or {})], session_id, timeout_s))[0]

    async def send_all(
        self,
        requests: Sequence[tuple[str, Params]],
        session_id: str | None = None,
        timeout_s: float = REQUEST_TIMEOUT_S,
    ) -> list[Params]:
        """Several requests, sent in this order without waiting in between, and their results.

        Raises:
            RefusedError: the browser answered one with an error.
            BrowserError: no answer in time, or the browser is gone.
        """
        numbers = [next(self._numbers) for _ in requests]
        answers = [asyncio.get_running_loop().create_future() for _ in requests]
        self._waiting.update((number, (session_id, answer)) for number, answer in zip(numbers, answers, strict=True))
        try:
            async with asyncio.timeout(timeout_s):
                for number, (method, params) in zip(numbers, requests, strict=True):
                    self._post(number, method, params, session_id)
                return await asyncio.gather(*answers)
        except TimeoutError:
            raise BrowserError(f"{requests[0][0]} got no answer in {timeout_s:.0f} s") from None
        finally:
            for number in numbers:
                del self._waiting[number]

    def on_event(self, session_id: str, handler: EventHandler | None) -> None:
        """Send the events of a session to `handler`; None stops that."""
        if handler is None:
            self._handlers.pop(session_id, None)
        else:
            self._handlers[session_id] = handler

    def fail_session(self, session_id: str, error: Exception) -> None:
        """Fail the requests of a session that can no longer answer: its page crashed or is gone."""
        self._fail([entry for entry in self._waiting.values() if entry[0] == session_id], error)

    async def close(self) -> None:
        """Close the pipes, at which the browser ends; requests still waiting fail."""
        if not self._write_end.is_closing():
            self._write_end.abort()
        self._read_end.close()
        self._reader.cancel()
        await asyncio.wait([self._reader])

    def _post(self, number: int, method: str, params: Params, session_id: str | None) -> None:
        message: Params = {"id": number, "method": method, "params": params}
        if session_id is not None:
            message["sessionId"] = session_id
        if self._write_end.is_closing():  # while processes that it began may hold the other pipe open for a moment
            self.closed.set()
        if self.closed.is_set():
            raise BrowserError("the browser is gone")
        self._write_end.write(orjson.dumps(message) + _END)

    async def _read(self) -> None:
        kept: list[bytes] = []
        """Of a message whose end is still to come."""
        try:
            while data := await self._messages.read(_CHUNK):
                first, *others = data.split(_END)
                kept.append(first)
                for other in others:
                    with contextlib.suppress(RecursionError):  # who asked for a value as deep as that gets none
                        self._take(parse(b"".join(kept)))
                    kept = [other]
        finally:
            self.closed.set()
            self._fail(self._waiting.values(), BrowserError("the browser is gone"))

    def _fail(self, waiting: Iterable[tuple[str | None, asyncio.Future[Params]]], error: Exception) -> None:
        for _, answer in waiting:
            if not answer.done():
                answer.set_exception(error)

    def _take(self, message: Params) -> None:
        if "id" not in message:
            if handler := self._handlers.get(message.get("sessionId", "")):
                handler(message["method"], message["params"])
            return
        _, answer = self._waiting.get(message["id"], (None, None))
        if answer is None or answer.done():  # it came after its deadline
            return
        if "error" in message:
            answer.set_exception(RefusedError(message["error"].get("message", "unknown error")))
        else:
            answer.set_result(message["result"])

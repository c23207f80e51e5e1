"""One address for all servers of an application: each browser session is led to its own by a cookie.

`http://trac.localhost:7070/` is the same address in every prompt and on every machine. Whoever has no cookie of ours is
led nowhere, so that no agent reaches the server of another. Trouble on demand happens here (`trouble.py`).
"""

import asyncio
import contextlib
import re
import secrets
import socket
from dataclasses import dataclass
from typing import Any, Self

from environments.apps.trouble import EpisodeTrouble, with_popup

COOKIE = "elcano_server"
MAX_HEAD = 64 << 10
PIECE = 64 << 10
IDLE_S = 120.0
_OURS = re.compile(rb"(?i)(?:; *)?\b" + COOKIE.encode() + rb"=([0-9a-f]+)")
_HEADER = re.compile(rb"(?im)^(?:connection|keep-alive|proxy-connection):[^\r]*\r\n")
_ENCODING = re.compile(rb"(?im)^accept-encoding:[^\r]*\r\n")
_LENGTH = re.compile(rb"(?im)^content-length: *(\d+)")
_NOWHERE = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_NO_ANSWER = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True)
class Way:
    """Where a session is led, and what it meets on the way."""

    port: int
    trouble: EpisodeTrouble | None = None


class Router:
    """Use as `async with`."""

    def __init__(self, listener: socket.socket):
        self._listener, self._ways = listener, dict[str, Way]()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, sock=self._listener, limit=MAX_HEAD)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    def lead(self, host: str, port: int, trouble: EpisodeTrouble | None = None) -> tuple[str, dict[str, Any]]:
        """(a key, the cookie that leads a browser from `host` to this port)."""
        key = secrets.token_hex(16)
        self._ways[key] = Way(port, trouble)
        return key, {"name": COOKIE, "value": key, "domain": host, "path": "/", "httpOnly": True}

    def forget(self, key: str) -> None:
        """Lead nobody there any more."""
        self._ways.pop(key, None)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request a connection: the next one may come from somebody else."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            try:
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), IDLE_S)
                await self._pass_on(head, reader, writer)
            finally:
                writer.close()

    async def _pass_on(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found = _OURS.search(head)
        way = self._ways.get(found[1].decode()) if found else None
        if way is None:
            writer.write(_NOWHERE)
            return
        popup = b""
        if way.trouble is not None:
            met = way.trouble.meet(head)
            await asyncio.sleep(met.delay_s)
            if met.answer is not None:
                await _answer(met.answer, head, reader, writer)
                return
            popup, head = met.popup, _ENCODING.sub(b"", head) if met.popup else head
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", way.port)
        except OSError:
            writer.write(_NO_ANSWER)
            return
        try:
            first, _, rest = _OURS.sub(b"", _HEADER.sub(b"", head)).partition(b"\r\n")
            rest = re.sub(rb"(?im)^cookie: *(?:; *)?(\r\n)?", lambda cut: b"" if cut[1] else b"Cookie: ", rest)
            server_writer.write(first + b"\r\nConnection: close\r\n" + rest)
            sending = asyncio.create_task(_copy(reader, server_writer))
            if popup:
                writer.write(with_popup(await asyncio.wait_for(server_reader.read(), IDLE_S), popup))
                await writer.drain()
            else:
                await _copy(server_reader, writer)
            sending.cancel()
        finally:
            server_writer.close()


async def _answer(answer: bytes, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Once the request is read: a browser that still sends takes an early end for a broken connection."""
    left = int(length[1]) if (length := _LENGTH.search(head)) else 0
    while left > 0 and (piece := await asyncio.wait_for(reader.read(min(left, PIECE)), IDLE_S)):
        left -= len(piece)
    if answer:
        writer.write(answer)
        await writer.drain()
    else:
        writer.transport.abort()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await asyncio.wait_for(source.read(PIECE), IDLE_S):
            target.write(piece)
            await target.drain()

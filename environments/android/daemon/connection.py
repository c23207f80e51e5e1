"""One client: the handshake, and the streams that it opens. Each stream has one packet on its way in either direction,
and waits until the other side has taken it."""

import asyncio
import contextlib
import os
import traceback
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from environments.android.daemon.keys import TOKEN_SIZE, PublicKey
from environments.android.daemon.packets import (
    AUTH,
    CLSE,
    CNXN,
    MAX_PAYLOAD,
    OKAY,
    OPEN,
    SIGNATURE,
    TOKEN,
    VERSION,
    WRTE,
    Packet,
    PacketError,
    read_packet,
)

HANDSHAKE_S = 60.0
MAX_TRIES = 32  # signatures of a client that holds many keys
MAX_STREAMS = 64
_LEAST_VERSION, _LEAST_PAYLOAD = 0x01000000, 4096  # of a client that has not said yet what it takes


class Stream(Protocol):
    """What a service has of the client that asked for it."""

    async def accept(self) -> None:
        """Say that the service is there. A service that does not know what it was asked for raises
        `RefusedServiceError` instead."""
        ...

    async def read(self, count: int = -1) -> bytes:
        """What the client sent, at most `count` bytes; empty: it sends nothing more."""
        ...

    async def write(self, data: bytes) -> None:
        """Returns when the client has taken it.

        Raises:
            ConnectionError: the client closed the stream.
        """
        ...


Service = Callable[[str, Stream], Awaitable[None]]
"""Serves a stream by what it was opened for, such as `shell:wm size`; the stream is closed when it returns."""


class RefusedServiceError(Exception):
    """Nobody here offers what a stream was opened for."""


class Connection:
    """Serve it with `run`. `keys` None: everybody may connect."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        service: Service,
        banner: str,
        keys: Sequence[PublicKey] | None,
    ):
        self._reader, self._writer, self._service = reader, writer, service
        self._banner, self._keys = banner, keys
        self._version, self.max_payload = _LEAST_VERSION, _LEAST_PAYLOAD
        self._streams: dict[int, _Stream] = {}
        self._last = 0
        self._sending = asyncio.Lock()

    async def run(self) -> None:
        """Until either side ends it."""
        try:
            async with asyncio.timeout(HANDSHAKE_S):
                await self._shake_hands()
            while True:
                await self._take(await read_packet(self._reader))
        except (asyncio.IncompleteReadError, ConnectionError, PacketError, TimeoutError):
            pass  # the client is gone, or is none
        finally:
            streams = list(self._streams.values())
            for stream in streams:
                stream.stop()
            await asyncio.gather(*(stream.task for stream in streams), return_exceptions=True)
            self._writer.close()

    async def send(self, command: int, first: int, second: int, payload: bytes = b"") -> None:
        """One packet."""
        async with self._sending:
            self._writer.write(Packet(command, first, second, payload).encode(self._version < VERSION))
            await self._writer.drain()

    async def _shake_hands(self) -> None:
        """Until the client is known. Whoever shows an unknown key waits in vain, as for a person who says yes."""
        token = os.urandom(TOKEN_SIZE)
        for _ in range(MAX_TRIES):
            packet = await read_packet(self._reader)
            if packet.command == CNXN:
                self._version, self.max_payload = min(packet.first, VERSION), min(packet.second, MAX_PAYLOAD)
                if self._keys is None:
                    return await self._welcome()
                await self.send(AUTH, TOKEN, 0, token)
            elif packet.command == AUTH and packet.first == SIGNATURE and self._keys is not None:
                if any(key.verifies(token, packet.payload) for key in self._keys):
                    return await self._welcome()
                token = os.urandom(TOKEN_SIZE)
                await self.send(AUTH, TOKEN, 0, token)
            elif packet.command != AUTH:
                break
        raise PacketError("no handshake")

    async def _welcome(self) -> None:
        await self.send(CNXN, VERSION, MAX_PAYLOAD, self._banner.encode())

    async def _take(self, packet: Packet) -> None:
        if packet.command == OPEN:
            await self._open(packet)
            return
        stream = self._streams.get(packet.second)
        if packet.command == CNXN:  # the client begins anew
            raise PacketError("a second handshake")
        if stream is None:
            if packet.command == WRTE:
                await self.send(CLSE, 0, packet.first)
        elif packet.command == OKAY:
            stream.taken.set()
        elif packet.command == WRTE:
            stream.feed(packet.payload)
        elif packet.command == CLSE:
            stream.stop()

    async def _open(self, packet: Packet) -> None:
        if len(self._streams) >= MAX_STREAMS:
            await self.send(CLSE, 0, packet.first)
            return
        wanted = packet.payload.rstrip(b"\0").decode(errors="replace")
        self._last += 1
        stream = self._streams[self._last] = _Stream(self, self._last, packet.first)
        stream.task = asyncio.create_task(self._serve(stream, wanted))

    async def _serve(self, stream: "_Stream", wanted: str) -> None:
        try:
            await self._service(wanted, stream)
            own = stream.own
        except RefusedServiceError:
            own = 0
        except ConnectionError:
            return
        except Exception:  # a bug of ours ends this stream, and no other
            traceback.print_exc()
            own = 0
        finally:
            self._streams.pop(stream.own, None)
        with contextlib.suppress(ConnectionError):
            await self.send(CLSE, own, stream.others)


class _Stream:
    """`own` and `others` are its numbers on either side."""

    task: asyncio.Task[None]

    def __init__(self, connection: Connection, own: int, others: int):
        self._connection, self.own, self.others = connection, own, others
        self.taken = asyncio.Event()
        self.is_open = False
        self._came: asyncio.Queue[bytes] = asyncio.Queue()
        self._left = b""
        self._ended = False

    async def accept(self) -> None:
        if not self.is_open:
            self.is_open = True
            await self._connection.send(OKAY, self.own, self.others)

    def feed(self, data: bytes) -> None:
        """The client sent this; it sends more when `read` took it."""
        if self._came.qsize() > 1:
            raise PacketError("more than one packet on its way")
        self._came.put_nowait(data)

    def stop(self) -> None:
        """The client closed it: what serves it ends, too."""
        self.task.cancel()

    async def read(self, count: int = -1) -> bytes:
        await self.accept()
        if not self._left and not self._ended:
            self._left = await self._came.get()
            self._ended = not self._left
            await self._connection.send(OKAY, self.own, self.others)
        taken, self._left = (self._left, b"") if count < 0 else (self._left[:count], self._left[count:])
        return taken

    async def write(self, data: bytes) -> None:
        await self.accept()
        size = self._connection.max_payload
        for start in range(0, len(data), size):
            self.taken.clear()
            await self._connection.send(WRTE, self.own, self.others, data[start : start + size])
            await self.taken.wait()

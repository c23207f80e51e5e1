"""What a client may open a stream for: `shell:`, `shell,v2:`, `exec:`, and `sync:` to fetch what commands wrote."""

import struct
from collections.abc import Awaitable, Callable

from environments.android.daemon.commands import Device, Session
from environments.android.daemon.connection import RefusedServiceError, Stream
from environments.android.daemon.shell import CommandError, Streams, run_line

FEATURES = "shell_v2,cmd"
_STDIN, _STDOUT, _STDERR, _EXIT, _CLOSE_STDIN = range(5)
_PART = 64 * 1024  # most bytes of a file in one piece


class Services:
    """Of one device; as `connection.Service`."""

    def __init__(self, device: Device):
        self._device = device

    async def __call__(self, wanted: str, stream: Stream) -> None:
        name, _, argument = wanted.partition(":")
        kind, *options = name.split(",")
        if kind not in ("shell", "exec", "sync") or (kind == "shell" and not argument):
            raise RefusedServiceError(wanted)  # no shell to type into
        await stream.accept()
        if kind == "sync":
            await self._sync(stream)
        elif "v2" in options:
            await self._shell_v2(argument, stream)
        else:
            await self._run(argument, Streams(stream.read, stream.write, stream.write))

    async def _run(self, line: str, streams: Streams) -> int:
        session = Session(self._device)
        try:
            return await run_line(line, session.run, self._device.keep, streams)
        except CommandError as error:  # a file that could not be kept
            await streams.err(f"{error}\n".encode())
            return error.code
        finally:
            session.close()

    async def _shell_v2(self, line: str, stream: Stream) -> None:
        """Every piece has its kind and length before it; the last one is the exit code."""

        def writer(kind: int) -> Callable[[bytes], Awaitable[None]]:
            async def write(data: bytes) -> None:
                await stream.write(struct.pack("<BI", kind, len(data)) + data)

            return write

        async def read() -> bytes:
            while (header := await _exactly(stream, 5)) is not None:
                kind, length = struct.unpack("<BI", header)
                data = await _exactly(stream, length) or b""
                if kind == _STDIN:
                    return data
                if kind == _CLOSE_STDIN:
                    return b""
            return b""

        code = await self._run(line, Streams(read, writer(_STDOUT), writer(_STDERR)))
        await stream.write(struct.pack("<BIB", _EXIT, 1, code & 255))

    async def _sync(self, stream: Stream) -> None:
        """`STAT` and `RECV` of a file; nothing is taken in."""
        while (header := await _exactly(stream, 8)) is not None:
            request, length = struct.unpack("<4sI", header)
            if request == b"QUIT" or length > 1024:
                return
            content = self._device.files.get((await _exactly(stream, length) or b"").decode(errors="replace"))
            if request == b"STAT":
                mode = 0 if content is None else 0o100644
                await stream.write(struct.pack("<4s3I", b"STAT", mode, len(content or b""), 0))
            elif request == b"RECV" and content is not None:
                for start in range(0, len(content), _PART):
                    part = content[start : start + _PART]
                    await stream.write(struct.pack("<4sI", b"DATA", len(part)) + part)
                await stream.write(struct.pack("<4sI", b"DONE", 0))
            else:
                said = b"No such file or directory" if request == b"RECV" else b"this device takes no files"
                await stream.write(struct.pack("<4sI", b"FAIL", len(said)) + said)
                if request != b"RECV":
                    return


async def _exactly(stream: Stream, count: int) -> bytes | None:
    """So many bytes; None where the client sends no more."""
    data = b""
    while len(data) < count:
        more = await stream.read(count - len(data))
        if not more:
            return None
        data += more
    return data

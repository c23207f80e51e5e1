"""Servers of HTTP that do what none should, drawn from a seed, in a process of their own.

Each line of its input, `NAME SEED`, opens one on a port of its own, which it answers with.
"""

import asyncio
import contextlib
import functools
import gzip
import json
import math
import random
import socket
import subprocess
import sys
import zlib
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

_PAGE = b"<html><title>Hotel Harbour</title><body>Welcome! Please log in to the network.</body></html>"
_VALUES = (None, 7, 1.5, True, "", "x", [], {}, [[]], {"a": None}, "\ud800", -1, 1e308, "9" * 400)
_CHAT_FIELDS = ("id", "choices", "usage", "system_fingerprint", "model", "error", "object", "sampling", "metadata")
_CHOICE_FIELDS = ("message", "finish_reason", "logprobs", "token_ids", "index")
_PREDICT_FIELDS = ("text", "prompt_tokens", "completion_tokens", "weights_version", "token_ids", "sampling_logprobs")

Write = Callable[[bytes], Awaitable[None]]


def head(status: int, *lines: str) -> bytes:
    return "\r\n".join((f"HTTP/1.1 {status} X", *lines, "", "")).encode()


def whole(body: bytes, *lines: str, status: int = 200, kind: str = "application/json") -> bytes:
    return head(status, f"content-type: {kind}", f"content-length: {len(body)}", *lines) + body


async def silent(_: random.Random, write: Write) -> None:
    await asyncio.sleep(600)


async def slow(rng: random.Random, write: Write) -> None:
    """A byte at a time, from a place in head or body on."""
    answer = whole(b'{"text": "' + b"x" * 10_000 + b'"}')
    begin = rng.choice((0, 5, 30, 70, 200))
    await write(answer[:begin])
    for byte in answer[begin:]:
        await write(bytes([byte]))
        await asyncio.sleep(rng.choice((0.05, 0.3)))


async def endless(rng: random.Random, write: Write) -> None:
    """At full speed: a body in chunks or of a length nobody has, lines of a head, or answers that are none yet."""
    way = rng.choice(("chunks", "length", "open", "head", "continue"))
    if way == "chunks":
        await write(head(200, "content-type: application/json", "transfer-encoding: chunked") + b'6\r\n{"a":"\r\n'[:-1])
    elif way == "length":
        await write(head(200, "content-type: application/json", "content-length: 999999999999"))
    elif way == "open":
        await write(head(200, "content-type: text/html"))
    else:
        await write(b"HTTP/1.1 200 X\r\n" if way == "head" else b"")
    piece = {"chunks": b"10000\r\n" + b"x" * 65536 + b"\r\n", "head": b"x-y: z\r\n" * 1000}
    piece |= {"continue": b"HTTP/1.1 100 Continue\r\n\r\n" * 1000}
    while True:
        await write(piece.get(way, b"x" * 65536))


async def packed(rng: random.Random, write: Write) -> None:
    """Small on the wire and large unpacked, or packed as nobody asked, or damaged."""
    encoding = rng.choice(("gzip", "deflate", "gzip, gzip", "br", "zstd", "damaged", "x-gzip"))
    body = _zeros("gzip" in encoding)
    if encoding == "damaged":
        encoding, body = "gzip", gzip.compress(b'{"text": "x"}')[:-12] + b"\0" * 12
    await write(whole(body, f"content-encoding: {encoding}"))


@functools.cache
def _zeros(is_gzip: bool) -> bytes:
    """A text of 300 MiB, whose every MiB is packed alike."""
    packer = zlib.compressobj(9, wbits=31 if is_gzip else 15)
    begin, each = (packer.compress(text) + packer.flush(zlib.Z_FULL_FLUSH) for text in (b'{"text": "', b"0" * 2**20))
    return begin + 300 * each


async def of_wrong_form(rng: random.Random, write: Write) -> None:
    """JSON that is no answer of the protocol."""
    way = rng.randrange(5)
    if way == 4:
        value: Any = {"scores": [{"logprob": rng.choice((*_VALUES, 10**400, math.inf))} for _ in range(2)]}
    elif way == 0:
        value = rng.choice(_VALUES)
    elif way == 1:
        value = {name: rng.choice((*_VALUES, "x", 3)) for name in _PREDICT_FIELDS if rng.random() < 0.8}
    else:
        choice = {name: rng.choice(_VALUES) for name in _CHOICE_FIELDS if rng.random() < 0.8}
        if way == 3:
            choice["message"] = {"role": "assistant", "content": rng.choice(_VALUES)}
        value = {name: rng.choice(_VALUES) for name in _CHAT_FIELDS if rng.random() < 0.5} | {"choices": [choice]}
    await write(whole(json.dumps(value).encode()))


async def of_many_values(rng: random.Random, write: Write) -> None:
    """JSON whose values take a thousand times its bytes, or which is nested without end."""
    count = rng.choice((10_000, 60_000, 300_000))
    inner = {"{}": "{},", "[]": "[],", "one": '{"a":1},', "deep": "["}
    way = rng.choice(list(inner))
    items = inner[way] * count
    body = items if way == "deep" else '{"choices": [' + items + '{}], "text": [' + items + "{}]}"
    await write(whole(body.encode()))


async def broken_off(rng: random.Random, write: Write) -> None:
    answer = whole(b'{"text": "' + b"x" * 10_000 + b'"}')
    await write(answer[: rng.choice((0, 3, 20, 60, 500, 9000))])
    raise ConnectionResetError


async def in_pieces(rng: random.Random, write: Write) -> None:
    """All that HTTP allows around and between a body's bytes, without end."""
    begin = head(200, "content-type: application/json", "transfer-encoding: chunked", "content-encoding: identity")
    packed = gzip.compress(b'{"text": "x"}')
    packed_begin = begin.replace(b"identity", b"gzip") + b"%x\r\n%b\r\n" % (len(packed), packed)
    early = b"HTTP/1.1 103 X\r\nlink: </a>; rel=preload\r\n\r\n"
    ways = {
        "a byte each": (begin, b"1\r\nx\r\n"),
        "extensions": (begin, b"1;" + b"a" * 15_000 + b"\r\nx\r\n"),
        "one extension": (begin + b"1;", b"a" * 60_000),
        "trailers": (begin + b"1\r\nx\r\n0\r\n", b"a: b\r\n"),
        "early hints": (b"", early),
        "behind the end": (packed_begin, b"1\r\nx\r\n"),
        "events": (begin.replace(b"application/json", b"text/event-stream"), b"a\r\ndata: {}\n\n\r\n"),
    }
    begin, piece = ways[rng.choice(list(ways))]
    await write(begin)
    while True:
        await write(piece * max(1, 65536 // len(piece)))


async def elsewhere(rng: random.Random, write: Write) -> None:
    """A captive portal, or a redirect without end."""
    way = rng.randrange(4)
    if way == 0:
        await write(whole(_PAGE, kind="text/html"))
    elif way == 1:
        await write(whole(_PAGE, status=511, kind="text/html"))
    else:
        target = "/again" if way == 2 else "http://portal.invalid/login"
        await write(whole(b"", f"location: {target}", status=rng.choice((301, 302, 303, 307, 308)), kind="text/html"))


async def refusing(rng: random.Random, write: Write) -> None:
    body = rng.choice(
        (b"", b"x" * 500_000, b"<" * 900_000, b"\xff\xfe\0", json.dumps({"error": rng.choice(_VALUES)}).encode(), _PAGE)
    )
    status = rng.choice((400, 401, 403, 404, 409, 418, 422, 429, 500, 503, 599, 204, 999))
    kind = rng.choice(("application/json", "text/html; charset=zlib_codec", "text/plain; charset=idna", "x"))
    await write(whole(body, f"retry-after: {rng.choice(('nan', '-1', '1e-9', 'soon'))}", status=status, kind=kind))


async def no_http(rng: random.Random, write: Write) -> None:
    await write(
        rng.choice((b"SSH-2.0-x\r\n", b"\0" * 1000, b"HTTP/9.9 ok\r\n\r\n", b"HTTP/1.1 200\r\nbad head\r\n\r\n"))
    )


async def late(rng: random.Random, write: Write) -> None:
    """Fails each time, a part of the time-out later."""
    await asyncio.sleep(rng.uniform(0.1, 0.9))
    if rng.random() < 0.5:
        raise ConnectionResetError
    await write(whole(b"{}", f"retry-after: {rng.choice((0, 86400, 'Wed, 21 Oct 2099 07:28:00 GMT'))}", status=503))


async def of_cookies(rng: random.Random, write: Write) -> None:
    """New ones with each answer, as many as a head may hold."""
    lines = (f"set-cookie: c{rng.randrange(2**40)}={'x' * 3000}; max-age=9999999" for _ in range(20))
    await write(whole(b'{"text": "x"}', "connection: close", *lines))


async def honest(_: random.Random, write: Write) -> None:
    await write(whole(gzip.compress(b'{"text": "x"}'), "content-encoding: gzip"))


SERVERS = (
    silent, slow, endless, packed, of_wrong_form, of_many_values, broken_off, elsewhere, refusing, no_http,
    late, of_cookies, in_pieces,
)  # fmt: skip


def _answering(name: str, seed: int) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    rng, server = random.Random(seed), {one.__name__: one for one in (*SERVERS, honest)}[name]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def write(data: bytes) -> None:
            writer.write(data)
            await writer.drain()

        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            try:
                request = await reader.readuntil(b"\r\n\r\n")
                length = [line for line in request.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                await reader.readexactly(int(length[0].split(b":")[1]) if length else 0)
                await server(rng, write)
            except ConnectionResetError:
                writer.transport.abort()
            writer.close()

    return answer


async def _run() -> None:
    running: list[asyncio.Server] = []
    while line := await asyncio.to_thread(sys.stdin.readline):
        for server in running[:-8]:
            server.close()
        name, seed = line.split()
        listener = socket.create_server(("127.0.0.1", 0))
        running.append(await asyncio.start_server(_answering(name, int(seed)), sock=listener))
        print(listener.getsockname()[1], flush=True)


@contextlib.contextmanager
def opening() -> Iterator[Callable[[str, int], str]]:
    """What opens a server by name and seed, and says its address."""
    command = [sys.executable, str(Path(__file__))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def open_one(name: str, seed: int) -> str:
            process.stdin.write(f"{name} {seed}\n")
            process.stdin.flush()
            return f"http://127.0.0.1:{int(process.stdout.readline())}"

        try:
            yield open_one
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(_run())

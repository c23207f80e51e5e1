"""Clients of httpx whose answers are bounded: in seconds as a whole, in bytes, and in the pieces of their JSON.

httpx itself limits the time of each read and unpacks whatever it is sent, so a server that sends a byte a second, never
ends, or packs gigabytes into a file holds a client for ever or fills its memory. Whoever asks a server over HTTP asks
with these: policies, teachers, judges, proposers, readers of documents, ground truths and the router of replicas.
"""

import asyncio
import json
import zlib
from collections.abc import AsyncIterator, Callable
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx

from common.background import run_in_background
from common.files import parse_json

MAX_ANSWER_BYTES = 2**20
BYTES_PER_TOKEN = 1024
"""Of an answer about a token: its text, number and log-probability in OpenAI's words, likelier tokens not counted."""
_BYTES_PER_VALUE = 16
"""Of JSON: an empty object takes two bytes on the wire and hundreds in memory, so values are bounded as bytes are."""
_CONTAINERS, _CONTAINERS_PER_TOKEN = 500, 6
_PIECES_AT_A_TIME = 100
"""Of an answer in pieces of a byte, before others on the same loop have their turn, and a time-out its end."""
_PROTOCOL_HEADERS = ("content-encoding", "content-length", "transfer-encoding")  # of the body as it was sent


class AnswerTooLargeError(httpx.TransportError):
    """An answer of more bytes than its client reads."""


class Answer(httpx.Response):
    """A whole answer. Its text is UTF-8, whichever of Python's codecs a server names."""

    default_encoding = "utf-8"
    max_bytes: int = MAX_ANSWER_BYTES
    max_containers: int | None = None

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]  # not to be set, unlike httpx's
        return "utf-8"

    def json(self, **_: Any) -> Any:
        """Its value; `json.JSONDecodeError` also for what is nested too deeply or of too many values."""
        num_values = sum(map(self.content.count, (b"{", b"[", b",")))
        if num_values * _BYTES_PER_VALUE > self.max_bytes:
            raise json.JSONDecodeError(f"an answer of about {num_values} values", "", 0)
        try:
            value = parse_json(self.content)
        except json.JSONDecodeError:
            raise
        except ValueError as error:
            raise json.JSONDecodeError(str(error), "", 0) from None
        if self.max_containers is not None and (num := _num_containers(value)) > self.max_containers:
            raise json.JSONDecodeError(f"an answer of {num} objects and lists", "", 0)
        return value


class BoundedAsyncClient(httpx.AsyncClient):
    """Its time-out (of reading) bounds an exchange as a whole, redirects and all, and so `max_bytes` its answer, as it
    comes and unpacked. Answers are read to their end, also where a stream is asked for.

    Raises, where httpx raises its own: `httpx.ReadTimeout`; `AnswerTooLargeError`; `httpx.DecodingError` for what is
    packed otherwise than by gzip or zlib. `max_containers` bounds objects and lists where the answer becomes values of
    the openai package, which takes 40 microseconds for each. Cookies are not kept: a server could send ever more.
    """

    def __init__(self, *, max_bytes: int = MAX_ANSWER_BYTES, max_containers: int | None = None, **options: Any):
        super().__init__(cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())), **options)
        self.headers["accept-encoding"] = "identity"
        self.max_bytes, self.max_containers = max_bytes, max_containers

    async def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> Answer:
        """The answer to a request, read to its end."""
        timeout_s = request.extensions.get("timeout", {}).get("read")
        try:
            async with asyncio.timeout(timeout_s):
                sent = await super().send(request, stream=True, **options)
                try:
                    body = await _read(sent, self.max_bytes)
                finally:
                    await sent.aclose()
        except TimeoutError:
            raise httpx.ReadTimeout(f"no whole answer within {timeout_s:g} s", request=request) from None
        headers = [pair for pair in sent.headers.multi_items() if pair[0] not in _PROTOCOL_HEADERS]
        extensions = {"http_version": sent.http_version.encode()}
        answer = Answer(sent.status_code, headers=headers, content=body, request=sent.request, extensions=extensions)
        answer.history, answer.max_bytes, answer.max_containers = sent.history, self.max_bytes, self.max_containers
        return answer


class BoundedClient(httpx.Client):
    """The same for threads. Requests run on the loop of `common/background.py`: only there can one be broken off."""

    def __init__(self, **options: Any):
        mine = {name: options[name] for name in ("timeout", "headers") if name in options}
        super().__init__(transport=httpx.BaseTransport(), trust_env=False, **mine)  # it sends nothing itself
        self._exchanges = BoundedAsyncClient(**options)

    def send(self, request: httpx.Request, **options: Any) -> Answer:
        """The answer to a request, read to its end."""
        return run_in_background(self._exchanges.send(request, **options))

    def close(self) -> None:
        """Close connections."""
        super().close()
        run_in_background(self._exchanges.aclose())


def bytes_for_tokens(num_tokens: int) -> int:
    """What an answer of a model may take that was asked for so many tokens."""
    return MAX_ANSWER_BYTES + BYTES_PER_TOKEN * num_tokens


def containers_for_tokens(num_tokens: int) -> int:
    """Objects and lists in the answer of a chat endpoint that tells of so many tokens what they are: each has an object
    with two lists, and gateways add to all of it."""
    return _CONTAINERS + _CONTAINERS_PER_TOKEN * num_tokens


async def bounded(pieces: AsyncIterator[bytes], max_bytes: int) -> AsyncIterator[bytes]:
    """The same pieces; `AnswerTooLargeError` once they are more bytes."""
    left, number = max_bytes, 0
    async for piece in pieces:
        left, number = left - len(piece), number + 1
        if number % _PIECES_AT_A_TIME == 0:  # pieces that have come already are given without a pause
            await asyncio.sleep(0)
        if left < 0:
            raise AnswerTooLargeError(f"an answer of more than {max_bytes} bytes")
        yield piece


async def _read(answer: httpx.Response, max_bytes: int) -> bytes:
    """The body, unpacked."""
    unpack, body = _unpacker(answer.headers.get("content-encoding", "identity")), bytearray()
    async for piece in bounded(answer.aiter_raw(), max_bytes):
        body += unpack(piece, max_bytes + 1 - len(body))
        if len(body) > max_bytes:
            raise AnswerTooLargeError(f"an answer of more than {max_bytes} bytes, unpacked")
    return bytes(body)


def _num_containers(value: Any) -> int:
    """Objects and lists in a JSON value."""
    todo, num = [value], 0
    while todo:
        one = todo.pop()
        if isinstance(one, dict | list):
            num += 1
            todo += one.values() if isinstance(one, dict) else one
    return num


def _unpacker(encoding: str) -> Callable[[bytes, int], bytes]:
    """What makes of a packed piece at most so many bytes."""
    if encoding.strip().lower() in ("", "identity"):
        return lambda piece, _: piece
    if encoding.strip().lower() not in ("gzip", "x-gzip", "deflate"):
        raise httpx.DecodingError(f"an answer packed as {encoding[:40]!r}, which was not asked for")
    unpacked = zlib.decompressobj(wbits=47)  # by its first bytes: gzip or zlib

    def unpack(piece: bytes, most: int) -> bytes:
        if unpacked.eof:  # zlib would keep it, copied anew with each piece
            raise httpx.DecodingError("a packed answer with more behind its end")
        try:
            return unpacked.decompress(piece, most)
        except zlib.error as error:
            raise httpx.DecodingError(f"an answer that cannot be unpacked ({error})") from None

    return unpack

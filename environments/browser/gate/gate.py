"""The one door to the network: a forward proxy of our own, which every request of every page passes.

Redirects, frames, scripts, workers, new tabs and websockets all go through a browser's proxy, so none gets round it.
The gate resolves names itself and connects to the very address it checked: a name that resolves to a public address
first and to 127.0.0.1 the next time (DNS rebinding) opens nothing, also where a task begins. What is refused gets no
answer: the page shows the browser's error page. A process of its own, so that hundreds of pages loading never delay the
collector's loop:

    python -m environments.browser.gate.gate

It reads {"port": 0, "policy": {fields of UrlPolicy}} from its input, prints its port and serves until its parent ends;
each host that it did not connect to is a line {"host": "example.org:443", "why": ...}.
"""

import asyncio
import contextlib
import dataclasses
import json
import re
import select
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import aiohappyeyeballs

from common.inherited import for_python
from common.processes import allow_many_descriptors, die_with_parent, listen
from environments.browser.gate.url_policy import LOOPBACK_ADDRESSES, UrlPolicy, host_and_port, is_localhost

HEAD_LIMIT = 256 * 1024
CONNECT_TIMEOUT_S = 20.0
HEAD_TIMEOUT_S = 60.0
"""For a request's head, from the connection on: Chromium connects ahead of need, and anew when it waited too long."""
MAX_LOOKUPS = 512
"""Names looked up at a time. Each takes a thread for as long as its name server is silent, and pages name hundreds."""
IDLE_TIMEOUT_S = 600.0
"""A connection on which nothing moves for so long is closed; Chromium closes its own idle ones after five minutes."""
LOOK_EVERY_S = 2.0
"""How often a connection is looked at: whether it moves, and where it does not, whether the client is still there."""
CLOSE_TIMEOUT_S = 60.0
"""For a client to read the rest of an answer after its end. Closing alone would wait for it forever."""
SEND_TIMEOUT_S = 60.0
"""For a website to take more of an upload, as nginx has it. Of a client that closed before all was sent nothing shows:
its end comes behind what we do not read meanwhile."""
NEXT_ADDRESS_DELAY_S = 0.25
"""Head start of each address of a host over the next (RFC 8305), so that a dead IPv6 does not hide a living IPv4."""
CHUNK = 64 * 1024
REASON_KEPT_S = 10.0
"""How long it counts why a host was not connected to: it is asked as soon as the browser gives up."""
_MAX_REASONS = 1000
_HOP_HEADERS = re.compile(rb"(?im)^(?:proxy-[\w-]+|connection|keep-alive)[ \t]*:[^\r\n]*\r\n")

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class RefusedError(Exception):
    """The policy says no, or nothing answers there."""


class Gate:
    """The collector's handle of the process, which is replaced when it dies. Use as `with Gate(policy) as gate`."""

    def __init__(self, policy: UrlPolicy):
        self._policy = policy
        self.port = 0
        self._reasons: dict[str, tuple[float, str]] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> "Gate":
        self._closing = threading.Event()
        self._start()
        threading.Thread(target=self._replace, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        with self._lock:
            self._process.kill()
            self._process.wait()

    def _start(self) -> None:
        """On the same port as before: browsers know no other."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "environments.browser.gate.gate"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).resolve().parents[3],
            env=for_python(),
            start_new_session=True,  # Ctrl-C is for the collector, which still needs the gate to end in good order
        )
        fields = {name: sorted(values) for name, values in dataclasses.asdict(self._policy).items()}
        rules = {"port": self.port, "policy": fields}
        told, said = self._process.stdin, self._process.stdout
        assert told is not None and said is not None
        told.write(json.dumps(rules).encode() + b"\n")
        told.flush()
        self.port = int(said.readline() or 0) or self.port
        threading.Thread(target=self._take_reasons, args=(said,), daemon=True).start()

    def _take_reasons(self, lines: IO[bytes]) -> None:
        for line in lines:
            with self._lock, contextlib.suppress(ValueError):  # a line that was cut off when the process died
                said = json.loads(line)
                self._reasons.pop(said["host"], None)
                self._reasons[said["host"]] = time.monotonic(), said["why"]
                if len(self._reasons) > _MAX_REASONS:
                    del self._reasons[next(iter(self._reasons))]

    def _replace(self) -> None:
        while not self._closing.is_set():
            self._process.wait()
            with self._lock:
                if not self._closing.is_set():
                    self._start()
            self._closing.wait(0.2)  # no hurry where it cannot start at all

    def why_not(self, url: str) -> str:
        """Why there was no connection to the host of an address just now; "" where nothing is known of it."""
        parts = urlsplit(url)
        host = host_and_port(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
        with self._lock:
            when, why = self._reasons.get(host, (0.0, ""))
        return why if time.monotonic() - when < REASON_KEPT_S else ""

    def flags(self) -> tuple[str, ...]:
        """Chromium's switches."""
        return chromium_flags(self._policy, self.port)


def chromium_flags(policy: UrlPolicy, port: int) -> tuple[str, ...]:
    """The switches that send all of Chromium's requests to a gate. Loopback names where tasks begin go straight there:
    Chromium asks no name server for them, and they are one host and port each."""
    straight = ";".join(["<-loopback>", *policy.past_the_gate])
    return (
        f"--proxy-server=http://127.0.0.1:{port}",
        f"--proxy-bypass-list={straight}",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # else WebRTC goes round every proxy
    )


async def serve(policy: UrlPolicy, port: int) -> None:
    """Print the port, then serve until cancelled."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(MAX_LOOKUPS, "lookup"))
    listener = listen(port)
    server = await asyncio.start_server(lambda *streams: _handle(streams, policy), sock=listener, limit=HEAD_LIMIT)
    print(listener.getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


async def _handle(client: Streams, policy: UrlPolicy) -> None:
    reader, writer = client
    try:
        async with asyncio.timeout(HEAD_TIMEOUT_S):
            head = await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
        if method == "CONNECT":
            await _tunnel(client, *_split_host(target), policy)
        else:
            await _forward(client, head, target, policy)
    except (RefusedError, OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        pass  # closing without a word is the answer
    finally:
        await _close(writer)


async def _close(writer: asyncio.StreamWriter) -> None:
    """Once what was written is on its way, or after `CLOSE_TIMEOUT_S`."""
    writer.close()
    try:
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await writer.wait_closed()
    except TimeoutError:
        writer.transport.abort()
    except OSError:
        pass  # the client left: closed all the same


async def _tunnel(client: Streams, host: str, port: int, policy: UrlPolicy) -> None:
    """TLS and websockets."""
    upstream = await _connect(host, port, policy)
    client[1].write(b"HTTP/1.1 200 OK\r\n\r\n")
    await _carry_both_ways(client, upstream)


async def _forward(client: Streams, head: bytes, target: str, policy: UrlPolicy) -> None:
    """Plain http: one request with its body, one answer, and the connection ends, so that the next is looked at too."""
    parts = urlsplit(target)
    if parts.scheme != "http" or not parts.hostname:
        raise RefusedError(target)
    upstream = await _connect(parts.hostname, parts.port or 80, policy)
    line, headers = head.split(b"\r\n", 1)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    opening = f"{line.split(b' ', 1)[0].decode('latin-1')} {path} HTTP/1.1\r\nConnection: close\r\n"
    upstream[1].write(opening.encode("latin-1") + _HOP_HEADERS.sub(b"", headers))
    length = re.search(rb"(?im)^content-length:[ \t]*(\d+)", headers)
    await _carry_both_ways(client, upstream, most_up=int(length[1]) if length else 0)


async def _connect(host: str, port: int, policy: UrlPolicy) -> Streams:
    """A connection to the first address of the host that may be reached and answers; why there is none is printed."""
    try:
        return await _connect_to_allowed(host, port, policy)
    except (RefusedError, OSError) as error:
        print(json.dumps({"host": host_and_port(host, port), "why": _reason(host, error)}), flush=True)
        raise


def _reason(host: str, error: RefusedError | OSError) -> str:
    if isinstance(error, RefusedError):
        return f"{host} may not be reached: {error}"
    if isinstance(error, socket.gaierror):
        return f"the name {host} was not found: {error.strerror}"
    if isinstance(error, TimeoutError):
        return f"{host} did not answer"
    return f"no connection to {host}: {error.strerror or error}"


async def _connect_to_allowed(host: str, port: int, policy: UrlPolicy) -> Streams:
    if reason := policy.refuses_name(host, port):
        raise RefusedError(reason)
    async with asyncio.timeout(CONNECT_TIMEOUT_S):
        found = await _resolve(host, port)
        reasons = [policy.refuses_address(host, port, str(entry[4][0])) for entry in found]
        allowed = [entry for entry, reason in zip(found, reasons, strict=True) if not reason]
        if not allowed:
            raise RefusedError(next(iter(reasons), "it has no address"))
        connected = await aiohappyeyeballs.start_connection(
            allowed, happy_eyeballs_delay=NEXT_ADDRESS_DELAY_S, interleave=1
        )
        return await asyncio.open_connection(sock=connected, limit=HEAD_LIMIT)


async def _resolve(host: str, port: int) -> list[Any]:
    """What `getaddrinfo` gives, each address once; `localhost` is this machine, whatever a name server says."""
    loop = asyncio.get_running_loop()
    names = LOOPBACK_ADDRESSES if is_localhost(host) else (host,)
    found = [entry for name in names for entry in await loop.getaddrinfo(name, port, type=socket.SOCK_STREAM)]
    return list({entry[4][0]: entry for entry in found}.values())


async def _carry_both_ways(client: Streams, upstream: Streams, most_up: int | None = None) -> None:
    """Until either side ends, or nothing moves for `IDLE_TIMEOUT_S`, or `SEND_TIMEOUT_S` when an upload is stuck, or a
    little longer; then `upstream` is closed."""
    moved = asyncio.Event()
    up, down = _carry(client[0], upstream[1], moved, most_up), _carry(upstream[0], client[1], moved)
    tasks = [asyncio.create_task(up), asyncio.create_task(down)]
    quiet_s = 0.0
    try:
        while True:
            ended, _ = await asyncio.wait(tasks, timeout=LOOK_EVERY_S, return_when=asyncio.FIRST_COMPLETED)
            quiet_s = 0.0 if moved.is_set() else quiet_s + LOOK_EVERY_S
            is_stuck = upstream[1].transport.get_write_buffer_size() > 0
            is_over = quiet_s >= (SEND_TIMEOUT_S if is_stuck else IDLE_TIMEOUT_S)
            if ended or is_over or (quiet_s and _has_left(client[1])):
                return
            moved.clear()
    finally:
        for task in tasks:
            task.cancel()
        upstream[1].transport.abort()  # closing would first wait for it to read the upload, which it may never do


def _has_left(client: asyncio.StreamWriter) -> bool:
    """Whether the client hung up. An upload that is stuck stops us reading from it, so that no end of stream tells."""
    if client.is_closing():
        return True
    poll = select.poll()
    poll.register(client.get_extra_info("socket"), select.POLLRDHUP)
    return bool(poll.poll(0))


async def _carry(
    source: asyncio.StreamReader, sink: asyncio.StreamWriter, moved: asyncio.Event, most: int | None = None
) -> None:
    """Copy until the source ends; what comes after the first `most` bytes is dropped."""
    with contextlib.suppress(OSError):
        while data := await source.read(CHUNK):
            moved.set()
            if most is not None:
                data = data[:most]
                most -= len(data)
            sink.write(data)
            await sink.drain()


def _split_host(target: str) -> tuple[str, int]:
    host, _, port = target.rpartition(":")
    return host.strip("[]"), int(port)


async def _main() -> None:
    rules = json.loads(sys.stdin.readline())
    fields = rules["policy"]
    origins = {name: frozenset(fields[name]) for name in ("starts", "loopback", "private")}
    await serve(UrlPolicy(**origins, allow=tuple(fields["allow"]), deny=tuple(fields["deny"])), rules["port"])


if __name__ == "__main__":
    die_with_parent()
    allow_many_descriptors()
    asyncio.run(_main())

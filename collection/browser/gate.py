"""The one door to the network: a forward proxy of our own, which every request of every page passes.

Redirects, frames, scripts, workers, new tabs and websockets all go through a browser's proxy, so none gets round it.
The gate resolves names itself and connects to the very address it checked: a name that resolves to a public address
first and to 127.0.0.1 the next time (DNS rebinding) opens nothing. What is refused gets no answer: the page shows the
browser's error page. A process of its own, so that hundreds of pages loading never delay the collector's loop:

    python -m collection.browser.gate       reads {"port": 0, "granted": [...], "allow": [...], "deny": [...]} from its
                                            input, prints its port and serves until its parent ends
"""

import asyncio
import contextlib
import json
import re
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

from collection.browser.url_policy import UrlPolicy
from data.processes import die_with_parent, listen

HEAD_LIMIT = 256 * 1024
CONNECT_TIMEOUT_S = 20.0
CHUNK = 64 * 1024
_HOP_HEADERS = re.compile(rb"(?im)^(?:proxy-[\w-]+|connection|keep-alive)[ \t]*:[^\r\n]*\r\n")

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class RefusedError(Exception):
    """The policy says no, or nothing answers there."""


class Gate:
    """The collector's handle of the process, which is replaced when it dies. Use as `with Gate(policy) as gate`."""

    def __init__(self, policy: UrlPolicy):
        self._policy = policy
        self.port = 0
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
            [sys.executable, "-m", "collection.browser.gate"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).resolve().parent.parent.parent,
            start_new_session=True,  # Ctrl-C is for the collector, which still needs the gate to end in good order
        )
        policy = self._policy
        rules = {"port": self.port, "granted": sorted(policy.granted), "allow": policy.allow, "deny": policy.deny}
        self._process.stdin.write(json.dumps(rules).encode() + b"\n")
        self._process.stdin.flush()
        self.port = int(self._process.stdout.readline() or 0) or self.port

    def _replace(self) -> None:
        while not self._closing.is_set():
            self._process.wait()
            with self._lock:
                if not self._closing.is_set():
                    self._start()
            self._closing.wait(0.2)  # no hurry where it cannot start at all

    def flags(self) -> tuple[str, ...]:
        """Chromium's switches. What was granted goes straight there: it is exactly one host and port each."""
        straight = ";".join(["<-loopback>", *sorted(self._policy.granted)])
        return (
            f"--proxy-server=http://127.0.0.1:{self.port}",
            f"--proxy-bypass-list={straight}",
            "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # else WebRTC goes round every proxy
        )


async def serve(policy: UrlPolicy, port: int) -> None:
    """Print the port, then serve until cancelled."""
    listener = listen(port)
    server = await asyncio.start_server(lambda *streams: _handle(streams, policy), sock=listener, limit=HEAD_LIMIT)
    print(listener.getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


async def _handle(client: Streams, policy: UrlPolicy) -> None:
    reader, writer = client
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
        if method == "CONNECT":
            await _tunnel(client, *_split_host(target), policy)
        else:
            await _forward(client, head, target, policy)
    except (RefusedError, OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        pass  # closing without a word is the answer
    finally:
        writer.close()


async def _tunnel(client: Streams, host: str, port: int, policy: UrlPolicy) -> None:
    """TLS and websockets: bytes both ways until the website ends."""
    upstream = await _connect(host, port, policy)
    client[1].write(b"HTTP/1.1 200 OK\r\n\r\n")
    sending = asyncio.create_task(_carry(client[0], upstream[1]))
    try:
        await _carry(upstream[0], client[1])
    finally:
        sending.cancel()
        upstream[1].close()


async def _forward(client: Streams, head: bytes, target: str, policy: UrlPolicy) -> None:
    """Plain http: one request with its body, one answer, and the connection ends, so that the next is looked at too."""
    parts = urlsplit(target)
    if parts.scheme != "http" or not parts.hostname:
        raise RefusedError(target)
    reader, writer = await _connect(parts.hostname, parts.port or 80, policy)
    try:
        line, headers = head.split(b"\r\n", 1)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        opening = f"{line.split(b' ', 1)[0].decode('latin-1')} {path} HTTP/1.1\r\nConnection: close\r\n"
        writer.write(opening.encode("latin-1") + _HOP_HEADERS.sub(b"", headers))
        if length := re.search(rb"(?im)^content-length:[ \t]*(\d+)", headers):
            await _carry(client[0], writer, int(length[1]))
        await _carry(reader, client[1])
    finally:
        writer.close()


async def _connect(host: str, port: int, policy: UrlPolicy) -> Streams:
    if reason := policy.refuses_name(host, port):
        raise RefusedError(reason)
    async with asyncio.timeout(CONNECT_TIMEOUT_S):
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=1)
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        for address in addresses:
            if policy.refuses_address(host, port, address):
                continue
            with contextlib.suppress(OSError):
                return await asyncio.open_connection(address, port, limit=HEAD_LIMIT)
    raise RefusedError(host)


async def _carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter, num_bytes: int | None = None) -> None:
    """Copy until the source ends, or that many bytes."""
    with contextlib.suppress(OSError):
        while num_bytes != 0 and (data := await source.read(min(CHUNK, num_bytes or CHUNK))):
            sink.write(data)
            await sink.drain()
            num_bytes = None if num_bytes is None else num_bytes - len(data)


def _split_host(target: str) -> tuple[str, int]:
    host, _, port = target.rpartition(":")
    return host.strip("[]"), int(port)


async def _main() -> None:
    rules = json.loads(sys.stdin.readline())
    policy = UrlPolicy(frozenset(rules["granted"]), tuple(rules["allow"]), tuple(rules["deny"]))
    await serve(policy, rules["port"])


if __name__ == "__main__":
    die_with_parent()
    asyncio.run(_main())

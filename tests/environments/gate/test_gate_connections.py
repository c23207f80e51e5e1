"""Connections through the gate that are left, stuck or idle end, and hold no descriptor."""

import asyncio
import contextlib
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from environments.browser.gate import gate as gate_module
from environments.browser.gate.gate import Gate
from environments.browser.gate.url_policy import UrlPolicy
from tests.collection.faults.gates import in_process_gate, policy_of_own


def num_descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def within_10_s(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


@pytest.mark.parametrize("ending", ["client", "website"])
def test_tunnels_that_either_side_left_hold_no_descriptor(ending: str) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=128) as website:
        port = website.getsockname()[1]
        with Gate(policy_of_own(f"http://127.0.0.1:{port}/")) as gate:
            before = num_descriptors(gate._process.pid)
            kept = []
            for _ in range(100):
                client = socket.create_connection(("127.0.0.1", gate.port))
                client.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode())
                assert b"200" in client.recv(100)
                upstream, _ = website.accept()
                leaves, stays = (client, upstream) if ending == "client" else (upstream, client)
                leaves.close()
                kept.append(stays)  # the other side says nothing and stays
            assert within_10_s(lambda: num_descriptors(gate._process.pid) <= before + 2)
            for side in kept:
                assert side.recv(1) == b""
                side.close()


@pytest.mark.parametrize("method", ["CONNECT", "POST"])
def test_uploads_that_nobody_reads_hold_nothing_once_the_client_left(method: str) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=128) as website:
        port = website.getsockname()[1]
        target = {"CONNECT": f"127.0.0.1:{port}", "POST": f"http://127.0.0.1:{port}/"}[method]
        with Gate(policy_of_own(f"http://127.0.0.1:{port}/")) as gate, contextlib.ExitStack() as kept:
            before = num_descriptors(gate._process.pid)
            clients = [socket.create_connection(("127.0.0.1", gate.port), timeout=10) for _ in range(5)]
            for client in clients:
                client.sendall(f"{method} {target} HTTP/1.1\r\nContent-Length: 40000000\r\n\r\n".encode())
                kept.enter_context(website.accept()[0])
                client.settimeout(0.3)
                with pytest.raises(TimeoutError):  # every buffer on the way is full
                    client.sendall(bytes(40_000_000))
            assert num_descriptors(gate._process.pid) >= before + 2 * len(clients)
            for client in clients:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
                client.close()
            assert within_10_s(lambda: num_descriptors(gate._process.pid) <= before + 2)


def test_an_upload_that_nobody_reads_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the client closed without a reset, which nobody can see behind what is left to read."""
    monkeypatch.setattr(gate_module, "SEND_TIMEOUT_S", 0.3)
    monkeypatch.setattr(gate_module, "LOOK_EVERY_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as website:
        url = f"http://127.0.0.1:{website.getsockname()[1]}/"
        with (
            in_process_gate(policy_of_own(url)) as gate_port,
            socket.create_connection(("127.0.0.1", gate_port), timeout=20) as client,
        ):
            client.sendall(f"POST {url} HTTP/1.1\r\nContent-Length: 40000000\r\n\r\n".encode())
            with pytest.raises(ConnectionError):
                client.sendall(bytes(40_000_000))


def test_a_client_that_never_reads_its_answer_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "CLOSE_TIMEOUT_S", 0.2)
    ours, theirs = socket.socketpair()

    async def answer() -> None:
        _, writer = await asyncio.open_connection(sock=ours)
        writer.write(bytes(20_000_000))
        async with asyncio.timeout(10):
            await gate_module._close(writer)
            while ours.fileno() >= 0:
                await asyncio.sleep(0.01)

    with theirs:
        asyncio.run(answer())


def test_an_idle_tunnel_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "IDLE_TIMEOUT_S", 0.3)
    monkeypatch.setattr(gate_module, "LOOK_EVERY_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as website:
        port = website.getsockname()[1]
        policy = policy_of_own(f"http://127.0.0.1:{port}/")
        with (
            in_process_gate(policy) as gate_port,
            socket.create_connection(("127.0.0.1", gate_port), timeout=20) as client,
        ):
            client.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode())
            assert b"200" in client.recv(100)
            upstream, _ = website.accept()
            for _ in range(4):  # longer than the limit in all, but never idle for so long
                time.sleep(0.15)
                upstream.sendall(b"x")
                assert client.recv(1) == b"x"
            assert client.recv(1) == b""


REASONS = {
    "http://127.0.0.1:9/page": "no connection to 127.0.0.1: ",
    "https://no-such-name.invalid/": "the name no-such-name.invalid was not found: ",
    "http://10.1.2.3/": "10.1.2.3 may not be reached: 10.1.2.3 is not on the public internet",
    "https://denied.example/": "denied.example may not be reached: it is on the deny-list",
}


def test_the_collector_is_told_why_there_was_no_connection_and_the_page_is_not() -> None:
    with Gate(UrlPolicy(deny=("denied.example",), private=frozenset({"127.0.0.1:9"}))) as gate:
        assert not any(map(gate.why_not, REASONS))
        for host in ("127.0.0.1:9", "no-such-name.invalid:443", "10.1.2.3:80", "denied.example:443"):
            with socket.create_connection(("127.0.0.1", gate.port), timeout=30) as client:
                client.sendall(f"CONNECT {host} HTTP/1.1\r\n\r\n".encode())
                assert client.recv(100) == b""
        assert within_10_s(lambda: all(map(gate.why_not, REASONS)))
        assert all(gate.why_not(url).startswith(reason) for url, reason in REASONS.items())

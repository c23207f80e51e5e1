"""What breaks a careless proxy: requests in two readings, clients that never finish, more of all than there is."""

import contextlib
import http.client
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from environments.browser.gate import gate as gate_module
from environments.browser.gate.gate import Gate
from tests.adversary.traps import Traps
from tests.collection.faults.gates import in_process_gate, policy_of_own


class Website:
    """Keeps what each connection sent; `answer` goes back at once, and the connection stays open."""

    def __init__(self, answer: bytes):
        self.received: list[bytearray] = []
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self._listener.getsockname()[1]
        self.policy = policy_of_own(f"http://127.0.0.1:{self.port}/")
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                connection.sendall(self._answer)
                kept = bytearray()
                self.received.append(kept)
                threading.Thread(target=self._keep, args=(connection, kept), daemon=True).start()

    @staticmethod
    def _keep(connection: socket.socket, kept: bytearray) -> None:
        with contextlib.suppress(OSError):
            while data := connection.recv(65536):
                kept += data

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def website() -> Iterator[Website]:
    one = Website(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
    yield one
    one.close()


def say(gate_port: int, request: bytes, last: bytes | None = None) -> bytes:
    """What the gate answers to this, until it is silent for a second, or its answer ends with `last`."""
    answer = b""
    with socket.create_connection(("127.0.0.1", gate_port), timeout=1) as client, contextlib.suppress(OSError):
        client.sendall(request)
        while data := client.recv(65536):
            answer += data
            if last is not None and answer.endswith(last):
                break
    return answer


FIRST = b"POST http://127.0.0.1:{site}/ HTTP/1.1\r\n"
SECOND = b"GET http://127.0.0.1:{trap}/ HTTP/1.1\r\nHost: x\r\n\r\n"
TWO_READINGS = {  # a proxy of another opinion would take what follows for a request to whoever it names
    "pipelined": b"Host: x\r\n\r\n",
    "behind a length of none": b"Content-Length: 0\r\n\r\n",
    "two lengths": b"Content-Length: 0\r\nContent-Length: 99\r\n\r\n",
    "length and chunks": b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "kept alive": b"Connection: keep-alive\r\nProxy-Connection: keep-alive\r\n\r\n",
}


@pytest.mark.parametrize("kind", TWO_READINGS)
def test_a_second_request_on_a_connection_is_not_passed_on(website: Website, kind: str) -> None:
    with Traps(["x"]) as traps, in_process_gate(website.policy) as port:
        places = {b"{site}": str(website.port).encode(), b"{trap}": str(traps.ports["x"]).encode()}
        text = FIRST + TWO_READINGS[kind] + SECOND
        for name, value in places.items():
            text = text.replace(name, value)
        assert say(port, text).endswith(b"ok")  # the first one is answered
        assert len(website.received) == 1
        sent = bytes(website.received[0])
        assert sent.count(b"HTTP/1.1") == 1 and b"connection: close" in sent.lower() and b"keep-alive" not in sent
        assert traps.after(set()) == set()


@pytest.mark.parametrize(
    "opening",
    [
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1:{site}\r\n\r\n",
        b"GET //127.0.0.1:{site}/ HTTP/1.1\r\n\r\n",
        b"GET https://127.0.0.1:{site}/ HTTP/1.1\r\n\r\n",
        b"GET ftp://127.0.0.1:{site}/ HTTP/1.1\r\n\r\n",
        b"GET file:///etc/passwd HTTP/1.1\r\n\r\n",
        b"CONNECT 127.0.0.1 HTTP/1.1\r\n\r\n",
        b"CONNECT 127.0.0.1:x HTTP/1.1\r\n\r\n",
        b"CONNECT 127.0.0.1:99999999 HTTP/1.1\r\n\r\n",
        b"CONNECT 127.0.0.1:-{site} HTTP/1.1\r\n\r\n",
        b"CONNECT http://127.0.0.1:{site} HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"\r\n\r\n",
        b" \r\n\r\n",
        b"GET\r\n\r\n",
        b"\xff\xfe \xff \xff\r\n\r\n",
        b"GET http://[::1 HTTP/1.1\r\n\r\n",
        b"GET http://" + b"a" * 10_000 + b"/ HTTP/1.1\r\n\r\n",
        b"GET http://127.0.0.1:{site}/ HTTP/1.1\r\nx: " + b"a" * 400_000 + b"\r\n\r\n",
    ],
)
def test_nonsense_gets_no_answer_and_the_next_client_does(website: Website, opening: bytes) -> None:
    with in_process_gate(website.policy) as port:
        assert say(port, opening.replace(b"{site}", str(website.port).encode())) == b""
        plain = f"GET http://127.0.0.1:{website.port}/ HTTP/1.1\r\n\r\n".encode()
        assert say(port, plain, last=b"ok").endswith(b"ok")
    assert len(website.received) == 1


def test_clients_that_never_finish_their_request_are_let_go(website: Website, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "HEAD_TIMEOUT_S", 0.5)
    with in_process_gate(website.policy) as port, contextlib.ExitStack() as open_ones:
        slow = [open_ones.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10)) for _ in range(50)]
        for client in slow:
            client.sendall(b"GET http://127.0.0.1:")
        for _ in range(4):  # something moves on each of them all the time
            for client in slow:
                with contextlib.suppress(OSError):
                    client.sendall(b"1")
            time.sleep(0.2)
        for client in slow:
            with contextlib.suppress(ConnectionError):
                assert client.recv(1) == b""


def test_slow_name_servers_hold_up_nobody_else(website: Website, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page may name a hundred hosts whose name server never answers; every lookup takes a thread."""
    real, answered = socket.getaddrinfo, threading.Event()

    def getaddrinfo(host: Any, *rest: Any, **named: Any) -> Any:
        if str(host).endswith("slow.example"):
            answered.wait(20)
            raise socket.gaierror("no answer")
        return real(host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with in_process_gate(website.policy) as port, contextlib.ExitStack() as open_ones:
        for number in range(100):
            client = open_ones.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
            client.sendall(f"CONNECT {number}.slow.example:443 HTTP/1.1\r\n\r\n".encode())
        time.sleep(0.3)
        started = time.monotonic()
        proxy = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        proxy.request("GET", f"http://127.0.0.1:{website.port}/")
        assert proxy.getresponse().read() == b"ok"
        assert time.monotonic() - started < 5
        answered.set()


FEW = 128
_GATE_WITH_FEW_DESCRIPTORS = f"""
import resource, runpy
resource.setrlimit(resource.RLIMIT_NOFILE, ({FEW}, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
runpy.run_module("environments.browser.gate.gate", run_name="__main__")
"""


def test_a_page_with_hundreds_of_connections_leaves_some_for_others(
    website: Website, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page of Chromium's may hold 255 websockets, which are two descriptors each here; shells allow 1,024."""
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 10 * FEW:
        pytest.skip("the hard limit of this machine allows no more")
    real = subprocess.Popen

    def start(command: list[str], **options: Any) -> subprocess.Popen:
        return real([sys.executable, "-c", _GATE_WITH_FEW_DESCRIPTORS], **options)

    monkeypatch.setattr(gate_module.subprocess, "Popen", start)
    with Gate(website.policy) as gate, contextlib.ExitStack() as open_ones:
        for _ in range(2 * FEW):
            client = open_ones.enter_context(socket.create_connection(("127.0.0.1", gate.port), timeout=10))
            client.sendall(f"CONNECT 127.0.0.1:{website.port} HTTP/1.1\r\n\r\n".encode())
        proxy = http.client.HTTPConnection("127.0.0.1", gate.port, timeout=10)
        proxy.request("GET", f"http://127.0.0.1:{website.port}/")
        assert proxy.getresponse().read() == b"ok"

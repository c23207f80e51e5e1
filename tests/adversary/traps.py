"""Ports that nobody may reach, one for each attack: whatever arrives there, by TCP or UDP, is a hole."""

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Iterable

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\naccess-control-allow-origin: *\r\ncontent-length: 0\r\n\r\n"


class Traps:
    """Use as `with Traps(names) as traps`. `reached` holds the names of the traps that were touched;
    `host` is how their addresses name this machine."""

    def __init__(self, names: Iterable[str]):
        self.reached: set[str] = set()
        self.host = "127.0.0.1"
        self.ports: dict[str, int] = {}
        self._selector = selectors.DefaultSelector()
        self._sockets: list[socket.socket] = []
        for name in names:
            self.ports[name] = self._open(name)

    def __enter__(self) -> "Traps":
        self._closing = False
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing = True
        self._thread.join()
        for one in self._sockets:
            one.close()

    def url(self, name: str) -> str:
        """An address that leads into the trap."""
        return f"http://{self.host}:{self.ports[name]}/{name.replace(' ', '-')}"

    def after(self, expected: set[str]) -> set[str]:
        """The names reached, when those expected have been or ten seconds are over, and the others had a moment."""
        deadline = time.monotonic() + 10
        while not expected <= self.reached and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.2)
        return self.reached

    def _open(self, name: str) -> int:
        """A TCP and a UDP socket on one port."""
        family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
        while True:
            stream, datagrams = socket.socket(family), socket.socket(family, socket.SOCK_DGRAM)
            for one in (stream, datagrams):
                if family == socket.AF_INET6:
                    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            stream.bind(("", 0))
            port = stream.getsockname()[1]
            with contextlib.suppress(OSError):
                datagrams.bind(("", port))
                stream.listen(16)
                for one, take in ((stream, self._accept), (datagrams, self._receive)):
                    one.setblocking(False)
                    self._selector.register(one, selectors.EVENT_READ, (name, take))
                    self._sockets.append(one)
                return port
            stream.close()
            datagrams.close()

    def _watch(self) -> None:
        while not self._closing:
            for key, _ in self._selector.select(timeout=0.1):
                name, take = key.data
                take(name, key.fileobj)

    def _accept(self, name: str, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            self.reached.add(name)
            connection.setblocking(False)
            self._sockets.append(connection)
            self._selector.register(connection, selectors.EVENT_READ, (name, self._answer))

    def _answer(self, _: str, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if connection.recv(65536):
                connection.sendall(ANSWER)
                return
        self._selector.unregister(connection)
        connection.close()

    def _receive(self, name: str, datagrams: socket.socket) -> None:
        with contextlib.suppress(OSError):
            datagrams.recv(65536)
            self.reached.add(name)

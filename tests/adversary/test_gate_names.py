"""Ways to write this machine's address, and names that change theirs, asked of a gate with its wall and without."""

import socket

import pytest

from environments.browser.gate.url_policy import UrlPolicy
from tests.adversary.traps import Traps
from tests.collection.faults.gates import NoWall, in_process_gate, name_server, policy_of_own

SPELLINGS = [
    "127.0.0.1",
    "127.9.9.9",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0177.0.0.1",
    "017700000001",
    "0",
    "0.0.0.0",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:7f00:0001]",
    "localhost",
    "LocalHost",
    "anything.localhost",
]
NO_HOSTS = ["*", "a..b", "127.0.0.1%00.example.com", "a@127.0.0.1", "a;127.0.0.1", "-a", "a_%", "::g", "a" * 300]


def ask(gate_port: int, host: str, port: int, is_tunnel: bool) -> None:
    """One request through the gate, whatever becomes of it."""
    target = f"CONNECT {host}:{port}" if is_tunnel else f"GET http://{host}:{port}/"
    with socket.create_connection(("127.0.0.1", gate_port), timeout=20) as client:
        client.sendall(f"{target} HTTP/1.1\r\nHost: fine.example\r\n\r\n".encode("latin-1"))
        client.recv(1000)


@pytest.mark.parametrize("is_tunnel", [False, True])
def test_no_spelling_of_this_machine_is_overlooked(is_tunnel: bool) -> None:
    with Traps(SPELLINGS) as traps:
        for wall, reached in ((NoWall(), set(SPELLINGS)), (UrlPolicy(), set())):
            traps.reached.clear()
            with in_process_gate(wall) as port:
                for host in SPELLINGS:
                    ask(port, host, traps.ports[host], is_tunnel)
            assert traps.after(reached) == reached


@pytest.mark.parametrize("is_tunnel", [False, True])
def test_what_is_no_host_is_not_looked_up(is_tunnel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    with Traps(["x"]) as traps:
        policy = policy_of_own(f"http://127.0.0.1:{traps.ports['x']}/")
        with in_process_gate(policy) as port:
            ask(port, "127.0.0.1", traps.ports["x"], is_tunnel)
            assert traps.after({"x"}) == {"x"}
            asked: list[str] = []
            real = socket.getaddrinfo
            monkeypatch.setattr(
                socket, "getaddrinfo", lambda host, *rest, **named: asked.append(host) or real(host, *rest, **named)
            )
            for host in NO_HOSTS:
                ask(port, host, traps.ports["x"] + 1, is_tunnel)
        assert set(asked) == {"127.0.0.1"}  # our own way to the gate


@pytest.mark.parametrize("is_tunnel", [False, True])
def test_a_name_that_changes_its_address_between_check_and_connection(
    is_tunnel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first answer is public, its second is this machine: what was checked is what is connected to."""
    with Traps(["x"]) as traps:
        for wall, reached in ((NoWall(), {"x"}), (UrlPolicy(), set())):
            traps.reached.clear()
            name_server(monkeypatch, {"turning.example": ["192.88.98.1", "127.0.0.1"]})
            monkeypatch.setattr("environments.browser.gate.gate.CONNECT_TIMEOUT_S", 0.5)
            with in_process_gate(wall) as port:
                for _ in range(3):
                    ask(port, "turning.example", traps.ports["x"], is_tunnel)
            assert traps.after(reached) == reached

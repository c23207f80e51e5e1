"""This machine by its own public addresses, and its neighbors: no outer firewall keeps a page of its browser away."""

import asyncio
import ipaddress
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from data.task import Task
from environments.browser.gate import own_networks
from environments.browser.gate.gate import Gate
from environments.browser.gate.own_networks import is_ours
from environments.browser.gate.url_policy import UrlPolicy
from environments.websites import Websites
from tests.adversary.hostile_site import ALL_AT_ONCE, serving, visit
from tests.adversary.pages import SUBRESOURCES
from tests.adversary.test_gate_names import ask
from tests.adversary.traps import Traps
from tests.collection.faults.gates import NoWall, in_process_gate, name_server, policy_of_own
from tests.namespaces import can_make_hosts, network_of_its_own, set_up

pytestmark = pytest.mark.skipif(not can_make_hosts(), reason="needs root and network namespaces (ip netns add)")

NETWORK = """
link add e0 type veth peer e1
link set e0 up addrgenmode none
link set e1 up addrgenmode none
addr add 93.184.216.34/24 dev e0
addr add 93.184.216.35/24 dev e0
addr add 93.184.100.1/32 dev e0
addr add 2606:2800:220:1::5/64 dev e0 nodad
addr add 2606:2800:220:9::5/128 dev lo nodad
addr add 64:ff9b::5db8:d822/128 dev lo nodad
route add local 93.184.50.0/24 dev lo
route add 93.184.60.0/24 dev e0
-6 route add 2606:2800:220:2::/64 dev e0
tuntap add t0 mode tun
link set t0 up addrgenmode none
addr add 93.184.70.1 peer 93.184.70.2 dev t0
route add 0.0.0.0/1 dev t0
route add default via 93.184.216.1
-6 route add default via 2606:2800:220:1::1
"""
OWN = {
    "IPv4": "93.184.216.34",
    "a second address": "93.184.216.35",
    "without a network": "93.184.100.1",
    "a number": "1572395042",
    "hexadecimal and octal": "0x5d.0270.0xd822",
    "a range of its own": "93.184.50.77",
    "IPv6": "[2606:2800:220:1::5]",
    "in full": "[2606:2800:0220:0001:0000:0000:0000:0005]",
    "of loopback's interface": "[2606:2800:220:9::5]",
    "mapped": "[::ffff:93.184.216.34]",
    "mapped in hexadecimal": "[::ffff:5db8:d823]",
    "by NAT64": "[64:ff9b::5db8:d822]",
    "the other end": "93.184.70.1",
    "a name": "own.example",
    "a name of IPv6": "own6.example",
    "a name of both": "own.example.",
}
NAMES = {
    "own.example": ["93.184.216.34"],
    "own6.example": ["2606:2800:220:1::5"],
    "own.example.": ["::ffff:93.184.216.35"],
}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """What was looked up belongs to the network of another test."""
    own_networks._networks.cache_clear()
    yield
    own_networks._networks.cache_clear()


@pytest.fixture
def network() -> Iterator[None]:
    with network_of_its_own(NETWORK):
        yield


@pytest.mark.parametrize("is_tunnel", [False, True])
def test_no_spelling_of_an_own_address_is_overlooked(
    network: None, is_tunnel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_server(monkeypatch, NAMES)
    with Traps(OWN) as traps:
        for wall, reached in ((NoWall(), set(OWN)), (UrlPolicy(), set())):
            traps.reached.clear()
            with in_process_gate(wall) as port:
                for name, host in OWN.items():
                    ask(port, host, traps.ports[name], is_tunnel)
            assert traps.after(reached) == reached


@pytest.mark.parametrize("wall", [NoWall(), UrlPolicy()])
@pytest.mark.parametrize(
    "added", ["93.184.90.1/32", "93.184.90.2/24", "2606:2800:220:5::7/64", "2606:2800:220:6::7/128"]
)
def test_an_address_that_comes_while_the_gate_runs_is_ours_at_once(network: None, added: str, wall: UrlPolicy) -> None:
    address = added.partition("/")[0]
    host, is_without = (f"[{address}]", " nodad") if ":" in address else (address, "")
    reached = {"x"} if isinstance(wall, NoWall) else set()
    with Traps(["x"]) as traps, in_process_gate(wall) as port:
        ask(port, "93.184.216.34", traps.ports["x"] + 1, True)  # it has looked around
        set_up(f"addr add {added} dev e0{is_without}")
        ask(port, host, traps.ports["x"], True)
        assert traps.after(reached) == reached


NAVIGATED = ("redirect", "script", "form", "opened tab", "late opened tab")
NEIGHBORS = ["93.184.216.77", "::ffff:93.184.216.77", "64:ff9b::5db8:d84d", "93.184.60.7", "93.184.70.2"]
NEIGHBORS += ["2606:2800:220:1::77", "2606:2800:220:2::1", "93.184.216.255", "2606:2800:220:1::5%e0"]
FARTHER = ["93.184.217.34", "93.184.61.7", "8.8.8.8", "2606:2800:220:3::1", "2606:4700::1111", "64:ff9b::808:808"]


def test_neighbors_are_ours_and_the_internet_is_not(network: None) -> None:
    """Also where half the internet is routed into a tunnel."""
    assert {one: UrlPolicy().refuses_address("a.com", 80, one) != "" for one in NEIGHBORS + FARTHER} == {
        **dict.fromkeys(NEIGHBORS, True),
        **dict.fromkeys(FARTHER, False),
    }
    listed = UrlPolicy.of([], private=["a.com:80"])
    assert not any(listed.refuses_address("a.com", 80, one) for one in FARTHER + NEIGHBORS[:1])


def test_a_start_opens_its_own_port_by_the_address_alone(network: None, monkeypatch: pytest.MonkeyPatch) -> None:
    name_server(monkeypatch, {"start.example": ["93.184.216.34"], "listed.example": ["2606:2800:220:1::5"]})
    with Traps(["start", "other port", "other address", "name", "listed"]) as traps:
        ports = traps.ports
        starts = [f"http://93.184.216.34:{ports['start']}/", f"http://start.example:{ports['name']}/"]
        tasks = [Task(str(number), "q", start) for number, start in enumerate(starts)]
        policy = UrlPolicy.of(tasks, private=[f"listed.example:{ports['listed']}"])
        with in_process_gate(policy) as port:
            ask(port, "93.184.216.34", ports["start"], False)
            ask(port, "93.184.216.34", ports["other port"], False)
            ask(port, "93.184.216.35", ports["other address"], False)
            ask(port, "start.example", ports["name"], False)
            ask(port, "listed.example", ports["listed"], True)
        assert traps.after({"start", "listed"}) == {"start", "listed"}
        reason = policy.refuses_address("start.example", ports["name"], "93.184.216.34")
        assert f"add --private_hosts start.example:{ports['name']}" in reason
    assert "deny" in UrlPolicy.of(tasks, deny=["2606:2800::1"]).refuses_address("x.com", 80, "2606:2800::1")


@pytest.mark.parametrize("host", ["93.184.216.34", "[2606:2800:220:1::5]", "1572395042"])
def test_a_start_at_an_own_address_is_said(network: None, host: str, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = [Task("1", "q", f"http://{host}:8123/"), Task("2", "q", "http://a.com/")]

    class OpenWeb(Websites):
        async def tasks(self) -> list[Task]:
            return tasks

    async def begin() -> None:
        async with OpenWeb().environments(tasks, 1):
            pass

    asyncio.run(begin())
    said = capsys.readouterr().err
    plain = "93.184.216.34" if host.isdigit() else host
    assert f"tasks begin at this machine's own addresses or networks: {plain}:8123\n" in said


def test_a_denied_address_is_denied_by_nat64_too() -> None:
    assert UrlPolicy.of([], deny=["93.184.216.34"]).refuses_address("x.com", 80, "64:ff9b::5db8:d822")


@pytest.mark.slow
@pytest.mark.parametrize("host", ["93.184.216.34", "[2606:2800:220:1::5]"])
def test_no_page_reaches_an_own_address(network: None, host: str, tmp_path: Path) -> None:
    """In a real browser, in every way that pages have, websockets and redirects among them."""
    with serving([*SUBRESOURCES, *NAVIGATED]) as (site, traps):
        traps.host = host
        visit(site, [ALL_AT_ONCE, *NAVIGATED], tmp_path, rest_s=1.0)
        assert {"fetch", "websocket"} <= traps.reached
        traps.reached.clear()
        with Gate(policy_of_own(site.url)) as gate:
            visit(site, [ALL_AT_ONCE, *NAVIGATED], tmp_path, gate.flags(), rest_s=1.0)
        assert traps.reached == set()


def test_who_asks_the_kernel_sends_nothing(network: None) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("93.184.216.34", 9))
        listening.settimeout(0.2)
        assert is_ours(ipaddress.ip_address("93.184.216.34"))
        with pytest.raises(TimeoutError):
            listening.recv(10)

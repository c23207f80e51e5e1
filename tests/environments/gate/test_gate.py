"""Pages that try to reach what they may not, in a real browser: each way works without the gate and fails with it."""

import asyncio
import contextlib
import dataclasses
import http.client
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psutil
import pytest

from common.errors import UserError
from common.processes import served
from data.task import Task
from environments.browser.fleet import Fleet
from environments.browser.gate import gate as gate_module
from environments.browser.gate.gate import Gate
from environments.browser.gate.url_policy import UrlPolicy
from environments.browser.page.page import Page, Viewport
from tests.collection.faults.gates import NoWall, in_process_gate, name_server, open_and_press, policy_of_own

# {trap} is an address that no task set granted.
ATTACKS = {
    "redirect": "<script>location = '/to?there={trap}'</script>",
    "script": "<script>location = '{trap}'</script>",
    "refresh": "<meta http-equiv=refresh content='0;url={trap}'>",
    "iframe": "<iframe src='{trap}'></iframe>",
    "redirected iframe": "<iframe src='/to?there={trap}'></iframe>",
    "image": "<img src='{trap}'>",
    "fetch": "<script>fetch('{trap}', {{mode: 'no-cors'}})</script>",
    "redirected fetch": "<script>fetch('/to?there={trap}', {{mode: 'no-cors'}})</script>",
    "beacon": "<script>navigator.sendBeacon('{trap}', 'x')</script>",
    "worker": "<script>new Worker(URL.createObjectURL(new Blob([`fetch('{trap}', {{mode: 'no-cors'}})`])))</script>",
    "websocket": "<script>new WebSocket('{trap}'.replace('http', 'ws'))</script>",
    "form": "<form action='{trap}' method=post></form><script>document.forms[0].submit()</script>",
    "new tab": "<a href='{trap}' target=_blank>Press</a>",
    "opened tab": "<button onclick=\"window.open('{trap}')\">Press</button>",
    "late opened tab": "<button onclick=\"const w = window.open(); w.location = '{trap}'\">Press</button>",
}
SECRET = "nobody may read this"


class Server:
    """Serves the attacks and counts who came where; `trap` is a second one that only counts."""

    def __init__(self, trap: str = ""):
        self.hits: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                address = urlsplit(self.path)
                server.hits.append(address.path)
                if address.path == "/to":
                    self.send_response(302)
                    self.send_header("location", parse_qs(address.query)["there"][0])
                    body = b""
                else:
                    self.send_response(200)
                    self.send_header("content-type", "text/html")
                    name = address.path[1:].replace("%20", " ")
                    attack = ATTACKS.get(name, "") if trap else ""  # the trap leads nowhere
                    body = (attack.format(trap=trap + address.path) or "<p>fine</p>").encode()
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                self.do_GET()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Server, Server]]:
    """(what the task set granted, what it did not)."""
    trap = Server()
    site = Server(trap.url)
    yield site, trap
    site.close()
    trap.close()


def gate_for(site: Server) -> Gate:
    return Gate(policy_of_own(f"{site.url}/"))


def browse(flags: tuple[str, ...], visit: Any) -> Any:
    """`await visit(page)` in a fresh browser."""

    async def go() -> Any:
        fleet = Fleet(1, headless=True, viewport=Viewport(), flags=flags)
        async with fleet, fleet.page(0, Path("/tmp/elcano-test-downloads")) as page:
            return await visit(page)

    return asyncio.run(go())


def test_no_way_leads_round_the_gate(servers: tuple[Server, Server]) -> None:
    site, trap = servers

    async def attack(page: Page) -> None:
        for name in ATTACKS:
            await open_and_press(page, f"{site.url}/{name.replace(' ', '%20')}")

    def reached() -> set[str]:
        return {path[1:].replace("%20", " ") for path in trap.hits}

    trap.hits.clear()
    for _ in range(3):  # on a busy machine the next page may come before an attack began
        if reached() != set(ATTACKS):
            browse((), attack)
    assert reached() == set(ATTACKS)  # every attack works where nothing stops it
    trap.hits.clear()
    with gate_for(site) as gate:
        browse(gate.flags(), attack)
    assert trap.hits == []
    assert {path[1:].replace("%20", " ") for path in site.hits} >= set(ATTACKS)


def test_a_public_start_that_points_at_this_machine_opens_nothing(
    servers: tuple[Server, Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither when its name server changes its mind, nor when an address of the page leads on there."""
    site, trap = servers
    start = f"http://start.example:{trap.port}"
    policy = policy_of_own(start, site.url)
    name_server(monkeypatch, {"start.example": ["127.0.0.1"]})

    async def attack(page: Page) -> None:
        await open_and_press(page, f"{start}/repointed")
        await open_and_press(page, f"{site.url}/to?there={start}/redirected")

    for wall, reached in ((NoWall(**dataclasses.asdict(policy)), ["/repointed", "/redirected"]), (policy, [])):
        trap.hits.clear()
        with in_process_gate(wall) as port:
            browse(gate_module.chromium_flags(wall, port), attack)
        assert trap.hits == reached


def test_a_task_set_cannot_open_every_address_of_a_port(servers: tuple[Server, Server]) -> None:
    site, trap = servers

    async def attack(page: Page) -> None:
        await open_and_press(page, f"{trap.url}/every")

    trap.hits.clear()
    with gate_for(site) as gate:
        opened = tuple(flag + f";*:{trap.port}" if "bypass-list" in flag else flag for flag in gate.flags())
        browse(opened, attack)
    assert trap.hits == ["/every"]  # so much would such a host open, if it were taken
    for host in ("*", "*.localhost", "127.0.0.1;*"):
        with pytest.raises(UserError, match="not the name of a host"):
            UrlPolicy.of([Task("1", "q", f"http://{host}:{trap.port}/")])


def test_an_address_that_does_not_answer_hides_no_other(
    servers: tuple[Server, Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    site, _ = servers
    with socket.socket() as silent, contextlib.ExitStack() as waiting:
        silent.bind(("127.0.0.2", site.port))
        silent.listen(0)
        for _ in range(4):  # its queue is full: nothing more is answered
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(("127.0.0.2", site.port))

        async def resolve(host: str, port: int) -> list[Any]:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in ("127.0.0.2", "127.0.0.1")]

        monkeypatch.setattr(gate_module, "_resolve", resolve)
        with in_process_gate(policy_of_own(f"http://site.localhost:{site.port}/")) as gate_port:
            started = time.monotonic()
            proxy = http.client.HTTPConnection("127.0.0.1", gate_port, timeout=30)
            proxy.request("GET", f"http://site.localhost:{site.port}/page")
            assert proxy.getresponse().read() == b"<p>fine</p>"
            assert time.monotonic() - started < gate_module.CONNECT_TIMEOUT_S / 2


def test_files_and_browser_pages_are_closed_to_pages(
    servers: tuple[Server, Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, _ = servers
    secret = tmp_path / "secret.html"
    secret.write_text(f"<p>{SECRET}</p>")
    targets = [f"file://{secret}", "chrome://version"]
    for number, target in enumerate(targets):
        for way in ("redirect", "script", "iframe", "new tab", "opened tab", "late opened tab"):
            ATTACKS[f"{way} {number}"] = ATTACKS[way].split("{trap}")[0] + target + ATTACKS[way].split("{trap}")[1]

    async def attack(page: Page) -> list[str]:
        names = [name for name in ATTACKS if name[-1].isdigit()]
        return [await open_and_press(page, f"{site.url}/{name.replace(' ', '%20')}") for name in names]

    try:
        with gate_for(site) as gate:
            trees = browse(gate.flags(), attack)
    finally:
        for name in [name for name in ATTACKS if name[-1].isdigit()]:
            del ATTACKS[name]
    assert len(trees) == 12 and any(trees)
    assert not any(SECRET in tree or "Chromium" in tree for tree in trees)
    assert SECRET not in browse((), lambda page: open_and_press(page, targets[0]))
    monkeypatch.setattr("environments.browser.page.page.may_open", lambda _: True)  # what a tab that we open would show
    assert SECRET in browse((), lambda page: open_and_press(page, targets[0]))


def test_webrtc_sends_nothing_past_the_gate(servers: tuple[Server, Server]) -> None:
    site, _ = servers
    call = """async (port) => {
        const peer = new RTCPeerConnection({iceServers: [{urls: `stun:127.0.0.1:${port}`}]});
        peer.createDataChannel("x");
        await peer.setLocalDescription(await peer.createOffer());
        await new Promise((done) => setTimeout(done, 1500));
    }"""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stun:
        stun.bind(("127.0.0.1", 0))
        stun.settimeout(0.5)

        async def attack(page: Page) -> None:
            await page.goto(site.url)
            await page.run(call, stun.getsockname()[1])

        browse((), attack)
        assert stun.recv(100)  # it does where nothing stops it
        with contextlib.suppress(TimeoutError):
            while stun.recv(100):
                pass
        with gate_for(site) as gate:
            browse(gate.flags(), attack)
        with pytest.raises(TimeoutError):
            stun.recv(100)


def test_the_gate_carries_what_is_granted(servers: tuple[Server, Server]) -> None:
    site, _ = servers
    with gate_for(site) as gate:
        proxy = http.client.HTTPConnection("127.0.0.1", gate.port, timeout=20)
        proxy.request("POST", f"{site.url}/page?x=1", body=b"hello")
        assert proxy.getresponse().read() == b"<p>fine</p>"
        tunnel = http.client.HTTPConnection("127.0.0.1", gate.port, timeout=20)
        tunnel.set_tunnel("127.0.0.1", site.port)
        tunnel.request("GET", "/tunnelled")
        assert tunnel.getresponse().read() == b"<p>fine</p>" and "/tunnelled" in site.hits


@pytest.mark.parametrize("is_tunnel", [False, True])
def test_the_gate_carries_nothing_else(servers: tuple[Server, Server], is_tunnel: bool) -> None:
    site, trap = servers

    def ask(gate_port: int) -> None:
        proxy = http.client.HTTPConnection("127.0.0.1", gate_port, timeout=20)
        if is_tunnel:
            proxy.set_tunnel("127.0.0.1", trap.port)
        proxy.request("GET", "/asked" if is_tunnel else f"{trap.url}/asked")
        proxy.getresponse()

    trap.hits.clear()
    with in_process_gate(NoWall()) as port:
        ask(port)
    assert trap.hits == ["/asked"]
    trap.hits.clear()
    with gate_for(site) as gate, pytest.raises((http.client.HTTPException, OSError)):
        ask(gate.port)
    assert trap.hits == []


def test_a_gate_that_dies_is_replaced_where_it_was(servers: tuple[Server, Server]) -> None:
    site, _ = servers
    with gate_for(site) as gate:
        first = gate._process.pid
        os.kill(first, signal.SIGKILL)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, http.client.HTTPException):
                proxy = http.client.HTTPConnection("127.0.0.1", gate.port, timeout=20)
                proxy.request("GET", f"{site.url}/again")
                assert proxy.getresponse().read() == b"<p>fine</p>"
                break
            time.sleep(0.05)
        assert gate._process.pid != first and "/again" in site.hits
    assert gate._process.poll() is not None


def test_a_download_that_is_too_large_is_cancelled(servers: tuple[Server, Server], tmp_path: Path) -> None:
    page_of = "<a download=big.bin href='data:application/octet-stream;base64,{}'>Press</a>"
    ATTACKS["large"] = page_of.format("A" * 1_400_000)
    ATTACKS["small"] = page_of.format("A" * 1_400)

    async def go(name: str, max_download_mb: float) -> int:
        folder = tmp_path / f"{name}{max_download_mb}"
        fleet = Fleet(1, headless=True, viewport=Viewport(), max_download_mb=max_download_mb)
        async with fleet, fleet.page(0, folder) as page:
            await open_and_press(page, f"{servers[0].url}/{name}")
            await asyncio.sleep(1)
            return sum(file.stat().st_size for file in folder.glob("*"))

    try:
        assert asyncio.run(go("large", 50.0)) == 1_050_000
        assert asyncio.run(go("small", 0.5)) == 1050
        assert asyncio.run(go("large", 0.5)) < 1_000_000
    finally:
        del ATTACKS["large"], ATTACKS["small"]


SECRETS = (
    *("OPENAI_API_KEY", "SHOPPING_API_LOGIN", "DATABASE_URL", "GITHUB_PAT", "MYSQL_PWD", "SLACK_WEBHOOK"),
    *("PIP_INDEX_URL", "SSH_AUTH_SOCK", "https_proxy", "LC_OF_MINE", "PYTHON_OF_MINE", "XDG_OF_MINE"),
)


def test_nothing_of_our_environment_reaches_what_meets_websites(
    servers: tuple[Server, Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its name. A name that looks harmless once passed: only KEY, TOKEN and the like were dropped."""
    for name in SECRETS:
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("TZ", "Asia/Tokyo")

    async def go() -> dict[str, bytes]:
        with gate_for(servers[0]) as gate:
            async with Fleet(1, True, Viewport(), flags=gate.flags()) as fleet, fleet.page(0, tmp_path) as page:
                assert "fine" in await open_and_press(page, f"{servers[0].url}/fine")
                known = {}
                for child in psutil.Process().children(recursive=True):
                    with contextlib.suppress(psutil.Error, OSError):  # one that has ended meanwhile
                        known[str(child.cmdline())] = Path(f"/proc/{child.pid}/environ").read_bytes()
                return known

    with served("environments.sites"):
        known = asyncio.run(go())
    for process in ("browser.gate", "reaper.py", "environments.sites", "--remote-debugging-pipe"):
        assert any(b"TZ=Asia/Tokyo" in said for command, said in known.items() if process in command)
    assert not [command for command, said in known.items() if SECRET.encode() in said]

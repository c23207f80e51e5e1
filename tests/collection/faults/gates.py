"""Gates in this process, where name servers can be replaced, the same gate without its wall, and who meets them."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest

from data.actions.action import Click
from data.task import Task
from environments.browser.acting.actions import act
from environments.browser.gate import gate as gate_module
from environments.browser.gate.url_policy import UrlPolicy, is_loopback_name
from environments.browser.observation.observe import observe
from environments.browser.page.page import Page
from environments.browser.page.settle import settle
from environments.faults import BrowserError, PageError


class NoWall(UrlPolicy):
    """Refuses nothing: the control of every test that finds something refused."""

    def refuses_name(self, host: str, port: int) -> str:
        return ""

    def refuses_address(self, host: str, port: int, address: str) -> str:
        return ""


def policy_of_own(*addresses: str) -> UrlPolicy:
    """Of a user who lists those of these websites that are on this machine; tasks begin there."""
    tasks = [Task(str(number), "q", address) for number, address in enumerate(addresses)]
    parts = [urlsplit(address) for address in addresses]
    return UrlPolicy.of(tasks, private=[part.netloc for part in parts if is_loopback_name(part.hostname or "")])


@contextlib.contextmanager
def in_process_gate(policy: UrlPolicy) -> Iterator[int]:
    """The port of a gate that serves in a thread."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    loop, serving = asyncio.new_event_loop(), gate_module.serve(policy, port)
    loop.set_exception_handler(lambda *_: None)  # connections that are cut off at the end are no news
    runner = asyncio.Runner(loop_factory=lambda: loop)

    def run() -> None:
        with runner, contextlib.suppress(asyncio.CancelledError):
            runner.run(serving)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
        yield port
    finally:
        loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(loop)])
        thread.join()


def name_server(monkeypatch: pytest.MonkeyPatch, names: Mapping[str, list[str]]) -> None:
    """These names have these addresses; with several, each lookup finds the next one, and then stays at the last."""
    real, left = socket.getaddrinfo, {name: list(addresses) for name, addresses in names.items()}

    def getaddrinfo(host: Any, port: Any, *options: Any, **named: Any) -> Any:
        if host in left:
            host = left[host].pop(0) if len(left[host]) > 1 else left[host][0]
        return real(host, port, *options, **named)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


async def open_and_press(page: Page, url: str) -> str:
    """What the agent sees of a page after it pressed what there is to press, "" when it cannot be observed."""
    with contextlib.suppress(PageError, BrowserError):
        await page.goto(url)
        await settle(page)
        seen = await observe(page, "released")
        pressed = [label for label, node in seen.nodes.items() if node["name"]["value"] == "Press"]
        if pressed:
            await act(page, Click(pressed[0]), seen, url)
            seen = await observe(page, "released")
        return seen.tree
    return ""

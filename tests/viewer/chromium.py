"""The viewer for a real Chromium: a server for a test's own application, and what a test waits for and types."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator

import uvicorn
from starlette.types import ASGIApp

from common.processes import listen
from environments.browser.page.page import Page
from tests.viewer.conftest import TOKEN


@contextlib.contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """The address of `app` on this machine, with its token."""
    listener = listen(0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://localhost:{listener.getsockname()[1]}/?token={TOKEN}"
    finally:
        server.should_exit = True
        thread.join()


async def until(page: Page, condition: str, timeout_s: float = 30.0) -> None:
    """Wait for a JavaScript expression."""
    deadline = time.monotonic() + timeout_s
    while not await page.run(f"() => Boolean({condition})"):
        assert time.monotonic() < deadline, f"{condition}: {await page.run('() => document.body.innerText')}"
        await asyncio.sleep(0.1)


async def press(page: Page, key: str) -> None:
    """A key, down and up."""
    await page.send_all([("Input.dispatchKeyEvent", {"type": kind, "key": key}) for kind in ("keyDown", "keyUp")])


async def be_phone(page: Page, width: int) -> None:
    """As a phone of so many CSS pixels draws pages: one that names no viewport is 980 wide."""
    metrics = {"width": width, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    await page.send("Emulation.setDeviceMetricsOverride", metrics)

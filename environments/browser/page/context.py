"""A browser context and its tabs, those that we open and those that pages open themselves.

A tab that a page opens is kept as what it is: it has its opener, may be written into by it, takes a form's POST once,
and may close itself. Chromium holds it until it has our viewport, user agent and listeners, so nothing of it is missed.
"""

import asyncio
import contextlib
from collections.abc import Awaitable
from pathlib import Path

from environments.browser.chromium.cdp import Params, RefusedError
from environments.browser.chromium.launch import Browser
from environments.browser.page.downloads import Downloads
from environments.browser.page.page import Page, Request, Viewport
from environments.faults import BrowserError

MAX_OPENED = 8
"""Tabs that pages may open between two looks at them; further ones are closed at once."""


class Context:
    """Own cookies, storage and cache. `pages`: its open tabs, oldest first."""

    def __init__(self, browser: Browser, context_id: str, viewport: Viewport, downloads: Downloads):
        self.browser, self.id, self.viewport, self.downloads = browser, context_id, viewport, downloads
        self.pages: list[Page] = []
        self.first: list[Request] = []
        self.num_refused = 0
        self._arrived: list[Page] = []
        self._setting_up: dict[str, asyncio.Task[None]] = {}
        browser.contexts[context_id] = self.take

    @classmethod
    async def open(cls, browser: Browser, viewport: Viewport, download_dir: Path, max_download_mb: float) -> "Context":
        """Without tabs yet; downloads go to `download_dir`, as far as they are not too large."""
        send = browser.connection.send
        context_id = (await send("Target.createBrowserContext", {"disposeOnDetach": True}))["browserContextId"]
        folder = download_dir.resolve()
        allow = {"behavior": "allowAndName", "browserContextId": context_id, "downloadPath": str(folder)}
        await send("Browser.setDownloadBehavior", allow)
        return cls(browser, context_id, viewport, Downloads(folder, max_download_mb))

    async def begin_with(self, *requests: Request) -> None:
        """Have every tab, and every frame with a process of its own, make these before its next document does
        anything."""
        self.first += requests
        for page in self.pages:
            await page.send_all(list(requests))

    async def new_page(self) -> Page:
        """Another tab, blank."""
        size = {"width": self.viewport.width, "height": self.viewport.height}
        request = {"url": "about:blank", "browserContextId": self.id, **size}
        target_id = (await self.browser.connection.send("Target.createTarget", request))["targetId"]
        page = next((page for page in self.pages if page.target_id == target_id), None)  # it is told of before
        if page is None:
            raise BrowserError("a new tab closed at once")
        if page in self._arrived:
            self._arrived.remove(page)
        if (task := self._setting_up.get(page.session_id)) is not None:
            await task
        return page

    def take_arrived(self) -> list[Page]:
        """The tabs that pages opened since last asked, as far as they are still there."""
        arrived, self._arrived = self._arrived, []
        return [page for page in arrived if not page.closed]

    async def close(self) -> None:
        """Dispose of it; never raises, the browser may be long dead."""
        self.browser.contexts.pop(self.id, None)
        for page in self.pages:
            page.forget()
        with contextlib.suppress(BrowserError, RefusedError):
            context = {"browserContextId": self.id}
            await self.browser.connection.send("Target.disposeBrowserContext", context, timeout_s=10)

    def take(self, method: str, params: Params) -> None:
        """A tab came or went, or a tab has another session."""
        if method == "Target.attachedToTarget":
            if all(page.target_id != params["targetInfo"]["targetId"] for page in self.pages):
                self._join(params["targetInfo"], params["sessionId"])
            return
        for page in [page for page in self.pages if page.session_id == params["sessionId"]]:
            self.drop(page)

    def drop(self, page: Page) -> None:
        """It is closed."""
        if page in self.pages:
            self.pages.remove(page)
            page.end()

    def _join(self, target: Params, session_id: str) -> None:
        if len(self._arrived) >= MAX_OPENED:
            self.num_refused += 1
            self._later(session_id, self._refuse(target["targetId"], session_id))
            return
        page = Page(self, target["targetId"], session_id, target.get("openerId", ""))
        self.pages.append(page)
        self._arrived.append(page)
        self._later(session_id, page.set_up())

    async def _refuse(self, target_id: str, session_id: str) -> None:
        """Close a tab that waits for us; while it waits, the page that opened it does too."""
        send = self.browser.connection.send
        await send("Runtime.runIfWaitingForDebugger", {}, session_id)
        await send("Target.closeTarget", {"targetId": target_id})

    def _later(self, session_id: str, request: Awaitable[object]) -> None:
        async def quietly() -> None:
            with contextlib.suppress(BrowserError, RefusedError):
                await request

        task = asyncio.create_task(quietly())
        self._setting_up[session_id] = task
        task.add_done_callback(lambda _: self._setting_up.pop(session_id, None))

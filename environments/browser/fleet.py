"""K browsers with M sessions each, every session in a context of its own; a browser that dies is replaced."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from common.processes import num_cores
from common.reaper import Reaper
from environments.browser.chromium.capacity import default_browsers
from environments.browser.chromium.cdp import RefusedError
from environments.browser.chromium.launch import Browser, launch, stop
from environments.browser.page.context import Context
from environments.browser.page.downloads import MAX_DOWNLOAD_MB
from environments.browser.page.page import Page, Viewport
from environments.faults import BrowserError

PROBE_TIMEOUT_S = 30.0


class Fleet:
    """Use as `async with Fleet(...) as fleet`; no browser outlives the block, or this process.

    Browsers start when their first session needs them, as many at a time as there are cores. `flags` are further
    switches of theirs.
    """

    def __init__(
        self,
        num_sessions: int,
        headless: bool,
        viewport: Viewport,
        num_browsers: int | None = None,
        flags: Sequence[str] = (),
        max_download_mb: float = MAX_DOWNLOAD_MB,
    ):
        self._headless, self._viewport, self._flags = headless, viewport, flags
        self._max_download_mb = max_download_mb
        count = min(num_sessions, num_browsers or default_browsers(num_sessions))
        self._browsers: list[Browser | None] = [None] * count
        self._locks = [asyncio.Lock() for _ in range(count)]
        self._starting = asyncio.Semaphore(num_cores())

    async def __aenter__(self) -> "Fleet":
        self._reaper = Reaper()
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(stop(browser, self._reaper) for browser in self._browsers if browser))
        self._reaper.close()

    async def open(self, session: int, download_dir: Path) -> Page:
        """A fresh page for the session with this number, in a living browser."""
        browser = await self._living_browser(session % len(self._browsers))
        try:
            context = await Context.open(browser, self._viewport, download_dir, self._max_download_mb)
            return await context.new_page()
        except (BrowserError, RefusedError) as error:
            await self._retire_if_hung(browser)
            raise BrowserError(f"no new page: {error}") from None

    @asynccontextmanager
    async def page(self, session: int, download_dir: Path) -> AsyncIterator[Page]:
        """The same, closed at the end of the block."""
        page = await self.open(session, download_dir)
        try:
            yield page
        finally:
            await page.close()

    async def _living_browser(self, index: int) -> Browser:
        async with self._locks[index]:
            browser = self._browsers[index]
            if browser is not None and browser.connection.closed.is_set():
                self._browsers[index] = None
                await stop(browser, self._reaper)
                browser = None
            if browser is None:
                async with self._starting:
                    browser = self._browsers[index] = await launch(self._reaper, self._headless, self._flags)
            return browser

    async def _retire_if_hung(self, browser: Browser) -> None:
        """Cut off a browser that no longer answers at all; the next session finds it gone and gets a new one."""
        try:
            await browser.connection.send("Browser.getVersion", timeout_s=PROBE_TIMEOUT_S)
        except (BrowserError, RefusedError):
            await browser.connection.close()

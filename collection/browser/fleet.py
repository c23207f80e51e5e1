"""A fleet of browsers: a few sessions share each, and one that dies is replaced."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from collection.browser.launch import Browser, launch, stop
from collection.browser.page import Page, Viewport
from collection.browser.reaper import Reaper

SESSIONS_PER_BROWSER = 8  # more browsers cost memory, fewer are a bottleneck (spec/browser.md §2)


class Fleet:
    """Use as `async with Fleet(...) as fleet`; no browser outlives the block, or this process."""

    def __init__(self, num_sessions: int, headless: bool, viewport: Viewport):
        self._headless, self._viewport = headless, viewport
        num_browsers = -(-num_sessions // SESSIONS_PER_BROWSER)
        self._browsers: list[Browser | None] = [None] * num_browsers
        self._locks = [asyncio.Lock() for _ in range(num_browsers)]

    async def __aenter__(self) -> "Fleet":
        self._reaper = Reaper()
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(stop(browser, self._reaper) for browser in self._browsers if browser))
        self._reaper.close()

    @asynccontextmanager
    async def page(self, session: int, download_dir: Path) -> AsyncIterator[Page]:
        """A fresh page for the session with this number, in a living browser."""
        browser = await self._living_browser(session // SESSIONS_PER_BROWSER)
        page = await Page.open(browser, self._viewport, download_dir)
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
            if self._browsers[index] is None:
                self._browsers[index] = await launch(self._reaper, self._headless)
            return self._browsers[index]

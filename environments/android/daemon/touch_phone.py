"""The touch world's phone as a device: Chromium's screen, its apps by package, and a new page where one died."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urljoin, urlsplit

from environments.browser.page.page import Page
from environments.browser.page.settle import settle
from environments.touch.apps.home import COLORS
from environments.touch.chromium_screen import ChromiumScreen
from environments.websites import STATE_PATH

PREFIX = "org.elcano."
HOME = f"{PREFIX}home"


class TouchPhone(ChromiumScreen):
    """As `TouchScreen` and `Apps`. A phone begins where `home` does, and anew at its `/start/<seed>`."""

    def __init__(self, page: Page, home: str, open_page: Callable[[], Awaitable[Page]]):
        super().__init__(page, home)
        self._open_page = open_page

    def packages(self) -> list[str]:
        return [HOME, *(PREFIX + name.lower() for name in COLORS)]

    async def front(self) -> str:
        address, own = urlsplit(await self.page.address()), urlsplit(self.home)
        package = PREFIX + address.path.strip("/").partition("/")[0]
        if address.netloc != own.netloc:  # a website, in the browser
            return f"{PREFIX}browser"
        return package if package in self.packages() else HOME

    async def start(self, package: str) -> None:
        await self.open(self.home if package == HOME else urljoin(self.home, package.removeprefix(PREFIX)))

    async def clear(self, package: str) -> None:
        """The phone is handed over anew, with all of its apps."""
        await self.view(urljoin(self.home, "/start/0"))

    async def view(self, url: str) -> None:
        self.page.touch()
        await self.page.goto(url)
        await settle(self.page)

    async def state(self) -> dict[str, Any] | None:
        return await self.page.fetch_json(urljoin(self.home, STATE_PATH))

    async def revive(self) -> None:
        if self.page.closed or self.page.browser.connection.closed.is_set():
            await self.page.close()
            self.page = await self._open_page()

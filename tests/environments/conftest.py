"""A website with a scripted policy, and a real browser that the tests of a module share."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from environments.browser.fleet import Fleet
from environments.browser.page.page import Page, Viewport
from environments.browser.page.settle import settle
from tests.collection.collector import Collector
from tests.environments import website, wild_website


@pytest.fixture
def site() -> Iterator[ThreadingHTTPServer]:
    """The website of `website.py`."""
    server = website.start()
    yield server
    website.stop(server)


@pytest.fixture
def url(site: ThreadingHTTPServer) -> str:
    """Its address, without a slash at the end."""
    return f"http://127.0.0.1:{site.server_address[1]}"


@pytest.fixture(scope="module")
def wild() -> Iterator[ThreadingHTTPServer]:
    """The website of `wild_website.py`, for the module."""
    server = wild_website.start()
    yield server
    website.stop(server)


class OneBrowser:
    """A fleet with one browser, and the event loop it lives in."""

    def __init__(self, fleet: Fleet, loop: asyncio.AbstractEventLoop, downloads: Path):
        self.fleet, self.downloads = fleet, downloads
        self.wait: Callable[[Coroutine[Any, Any, Any]], Any] = loop.run_until_complete

    @contextlib.asynccontextmanager
    async def page(self, url: str) -> AsyncIterator[Page]:
        """A page that has opened `url` and settled."""
        async with self.fleet.page(0, self.downloads) as page:
            await page.goto(url)
            await settle(page)
            yield page


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneBrowser]:
    """One browser for the module."""
    yield from open_browser(tmp_path_factory)


def open_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneBrowser]:
    """A browser, closed when the generator is."""
    loop = asyncio.new_event_loop()
    fleet = Fleet(num_sessions=1, headless=True, viewport=Viewport())
    loop.run_until_complete(fleet.__aenter__())
    yield OneBrowser(fleet, loop, tmp_path_factory.mktemp("downloads"))
    loop.run_until_complete(fleet.__aexit__())
    loop.close()


@pytest.fixture
def collector(tmp_path: Path) -> Collector:
    """`run.py`, with task file and results in a folder of the test."""
    return Collector(tmp_path)


@pytest.fixture(scope="module")
def adb_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """HOST:PORT of a server of adb with a key of its own, for the module."""
    from tests.environments.adb_clients import make_key, server  # of the optional elcano[android]

    home = tmp_path_factory.mktemp("home")
    make_key(home)
    with server(home) as port:
        yield f"127.0.0.1:{port}"

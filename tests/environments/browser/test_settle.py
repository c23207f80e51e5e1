"""Settling: content that comes late is waited for, endless movement is not."""

import asyncio
import time

import pytest

from data.actions.action import Click
from environments.browser.acting.actions import act
from environments.browser.observation.observe import observe
from environments.browser.page.activity import Activity
from tests.environments.conftest import OneBrowser
from tests.environments.website import find


@pytest.mark.parametrize(("path", "expected"), [("/late", "late content"), ("/clock", "Clock")])
def test_a_page_is_observed_at_rest(browser: OneBrowser, url: str, path: str, expected: str) -> None:
    async def run() -> tuple[str, float]:
        begin = time.monotonic()
        async with browser.page(url + path) as page:
            return (await observe(page, "released")).tree, time.monotonic() - begin

    tree, seconds = browser.wait(run())
    assert expected in tree
    assert seconds < 6


def test_a_slow_document_is_waited_for(browser: OneBrowser, url: str) -> None:
    async def run() -> str:
        async with browser.page(f"{url}/slow") as page:
            seen = await observe(page, "released")
            await act(page, Click(int(find(seen.tree, "Slow page"))), seen, url)
            return (await observe(page, "released")).tree

    assert "late content" in browser.wait(run())


def test_quiet_is_counted_from_the_action(browser: OneBrowser, url: str) -> None:
    async def run() -> str:
        async with browser.page(f"{url}/spa") as page:
            seen = await observe(page, "released")
            await act(page, Click(int(find(seen.tree, "Load"))), seen, url)
            return (await observe(page, "released")).tree

    assert "loaded at last" in browser.wait(run())


def test_a_wait_is_canceled_also_while_it_ends() -> None:
    """Else a session goes on after a SIGTERM, and the run never ends."""

    async def run() -> None:
        activity = Activity(main_frame="main")
        activity.take("Page.lifecycleEvent", {"frameId": "main", "loaderId": "1", "name": "init"})
        waiting = asyncio.create_task(activity.idle(1))
        await asyncio.sleep(0.01)
        activity.take("Page.lifecycleEvent", {"frameId": "main", "loaderId": "2", "name": "init"})
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(run())

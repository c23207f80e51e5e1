"""Settling: content that comes late is waited for, endless movement is not."""

import time

import pytest

from data.action import Click
from environments.browser.actions import act
from environments.browser.observe import observe
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

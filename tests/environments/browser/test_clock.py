"""Pages that read another clock than the machine's, in every tab and frame."""

import time

import pytest

from environments.browser.clock import shift_clock
from environments.browser.page.page import Page
from environments.browser.page.settle import settle
from tests.environments.conftest import OneBrowser

AHEAD_S = -250 * 24 * 3600.0
READ = """(() => {
  const told = document.body.appendChild(document.createElement('iframe')).contentWindow;
  const made = new Date(2020, 1, 3), Own = class extends Date {};
  return [Date.now(), +new Date(), +new told.Date(), +new Own(), Date.parse(Date()), performance.now() < 1e6,
    made.getMonth() === 1 && made instanceof Date && made.constructor === Date && new Own() instanceof Date,
    Date.UTC(1970, 0, 2)];
})()"""


async def read(page: Page) -> list[float | bool]:
    said = await page.send("Runtime.evaluate", {"expression": READ, "returnByValue": True})
    return said["result"]["value"]


@pytest.mark.usefixtures("site")
def test_every_tab_and_frame_reads_the_other_clock(browser: OneBrowser, url: str) -> None:
    async def look() -> list[list[float | bool]]:
        async with browser.page(url) as page:
            assert abs((await read(page))[0] / 1000 - time.time()) < 60
            await shift_clock(page, AHEAD_S)
            await page.goto(url)
            await settle(page)
            first = await read(page)
            await page.send("Runtime.evaluate", {"expression": "window.open('/second')", "userGesture": True})
            while not (opened := page.context.take_arrived()):
                await settle(page)
            await settle(opened[0])
            return [first, await read(opened[0])]

    expected = (time.time() + AHEAD_S) * 1000
    for *clocks, is_young, is_a_date, day in browser.wait(look()):
        assert [round((clock - expected) / 120_000) for clock in clocks] == [0] * 5
        assert is_young and is_a_date and day == 24 * 3600 * 1000

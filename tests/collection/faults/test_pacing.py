"""Websites are spared, and pages stand still while the model thinks where that is wanted."""

import asyncio
import time
from http.server import ThreadingHTTPServer
from unittest.mock import Mock

from collection.campaign.pacing import Pace
from data.trajectory import read_trajectory
from environments.browser.config import BrowserConfig
from environments.browser.environment import BrowserEnvironment
from environments.browser.page.page import Page
from environments.environment import Environment
from tests.collection.collector import Collector, task
from tests.environments.conftest import OneBrowser


def test_turns_on_a_website_are_spaced_over_all_sessions_and_others_do_not_wait() -> None:
    granted: list[str] = []

    async def session(pace: Pace, site: str) -> None:
        await pace.turn(site)
        granted.append(site)

    async def go() -> float:
        pace, begin = Pace(seats=1, interval_s=0.1), time.monotonic()
        await asyncio.gather(*(session(pace, site) for site in ("a", "a", "a", "b")))
        return time.monotonic() - begin

    assert asyncio.run(go()) >= 0.2
    assert granted == ["a", "b", "a", "a"]


def test_a_cancelled_session_ends_without_waiting_for_a_seat() -> None:
    async def think(pace: Pace) -> None:
        async with pace.seat(), pace.thinking(Mock(spec=Environment)):
            await asyncio.Event().wait()

    async def go() -> None:
        pace = Pace(seats=1)
        thinking = asyncio.create_task(think(pace))
        await asyncio.sleep(0)
        async with pace.seat():  # as long as this session likes
            thinking.cancel()
            async with asyncio.timeout(10):
                await asyncio.gather(thinking, return_exceptions=True)

    asyncio.run(go())


def test_a_run_minds_the_interval_before_each_action(collector: Collector, site: ThreadingHTTPServer, url: str) -> None:
    """By the trajectory's own clock: four turns, the first of them just before it begins."""
    tasks = [task(1, f"{url}/", "Restart | Restart | ANSWER; done")]
    done = collector.run(tasks, api_localhost=f"{url}/predict", site_interval_s=2)
    assert done.returncode == 0, done.stderr
    steps = read_trajectory(collector.results / "taskT--1").steps
    seconds = [sum(step.timings_s.values()) for step in steps]
    assert sum(seconds) - steps[-1].timings_s["act_s"] > 5.5


def test_a_page_stands_still_while_the_model_thinks_only_where_that_is_wanted(browser: OneBrowser, url: str) -> None:
    async def ticks(page: Page) -> int:
        return await page.run("() => Number(tick.textContent)")

    async def wait_for_a_tick(page: Page) -> None:
        before = await ticks(page)
        async with asyncio.timeout(30):
            while await ticks(page) == before:
                await asyncio.sleep(0.05)

    async def go() -> tuple[int, int]:
        async with browser.page(f"{url}/clock") as page:
            free, frozen = Pace(seats=1), Pace(seats=1, freeze=True)
            environment = BrowserEnvironment(page, BrowserConfig())
            async with free.seat(), free.thinking(environment):
                await wait_for_a_tick(page)
            async with frozen.seat():
                async with frozen.thinking(environment):
                    before = await ticks(page)
                    await asyncio.sleep(0.5)
                    after = await ticks(page)
                await wait_for_a_tick(page)
                assert await page.run("() => new Promise(requestAnimationFrame).then(() => document.hasFocus())")
            return before, after

    before, after = browser.wait(go())
    assert before == after

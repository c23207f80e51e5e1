"""Fingers: real touch events at points of the page, from which Chromium makes taps, long presses and scrolls."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from environments.browser.chromium.cdp import Params, RefusedError
from environments.browser.page.page import Page
from environments.faults import BrowserError

TOUCH_TIMEOUT_S, CANCEL_TIMEOUT_S = 10.0, 1.0
LONG_PRESS_S = 0.8
MOVE_S = 0.016  # between two places of a finger, as a screen of 60 Hz tells them
REST_S = 0.12
"""A finger rests before it lifts: what it dragged stays where it is, and does not go on by itself, so runs repeat."""

At = tuple[float, float]


async def tap(page: Page, at: At) -> None:
    """Touch and lift."""
    await page.send_all([_touch("touchStart", at), _touch("touchEnd")], TOUCH_TIMEOUT_S)


async def long_press(page: Page, at: At) -> None:
    """Touch, wait, and lift."""
    async with _finger(page, at):
        await asyncio.sleep(LONG_PRESS_S)
        await page.send_all([_touch("touchEnd")], TOUCH_TIMEOUT_S)


async def swipe(page: Page, start: At, end: At, seconds: float) -> None:
    """Touch at `start`, move to `end` in that time, rest and lift."""
    steps = max(2, round(seconds / MOVE_S))
    async with _finger(page, start):
        for step in range(1, steps + 1):
            share = step / steps
            at = start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share
            await page.send_all([_touch("touchMove", at)], TOUCH_TIMEOUT_S)
            await asyncio.sleep(seconds / steps)
        await asyncio.sleep(REST_S)
        await page.send_all([_touch("touchMove", end), _touch("touchEnd")], TOUCH_TIMEOUT_S)


@contextlib.asynccontextmanager
async def _finger(page: Page, at: At) -> AsyncIterator[None]:
    """Touch; the block lifts. A gesture that is cut off, as by a client that went away, leaves no finger on the screen:
    Chromium would refuse the next one."""
    try:
        await page.send_all([_touch("touchStart", at)], TOUCH_TIMEOUT_S)
        yield
    except BaseException:
        with contextlib.suppress(BrowserError, RefusedError):
            await page.send_all([_touch("touchCancel")], CANCEL_TIMEOUT_S)
        raise


def _touch(kind: str, at: At | None = None) -> tuple[str, Params]:
    points = [] if at is None else [{"x": at[0], "y": at[1]}]
    return "Input.dispatchTouchEvent", {"type": kind, "touchPoints": points}

"""Fingers: real touch events at points of the page, from which Chromium makes taps, long presses and scrolls."""

import asyncio

from environments.browser.chromium.cdp import Params
from environments.browser.page.page import Page

TOUCH_TIMEOUT_S = 10.0
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
    await page.send_all([_touch("touchStart", at)], TOUCH_TIMEOUT_S)
    await asyncio.sleep(LONG_PRESS_S)
    await page.send_all([_touch("touchEnd")], TOUCH_TIMEOUT_S)


async def swipe(page: Page, start: At, end: At, seconds: float) -> None:
    """Touch at `start`, move to `end` in that time, rest and lift."""
    steps = max(2, round(seconds / MOVE_S))
    await page.send_all([_touch("touchStart", start)], TOUCH_TIMEOUT_S)
    for step in range(1, steps + 1):
        share = step / steps
        at = start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share
        await page.send_all([_touch("touchMove", at)], TOUCH_TIMEOUT_S)
        await asyncio.sleep(seconds / steps)
    await asyncio.sleep(REST_S)
    await page.send_all([_touch("touchMove", end), _touch("touchEnd")], TOUCH_TIMEOUT_S)


def _touch(kind: str, at: At | None = None) -> tuple[str, Params]:
    points = [] if at is None else [{"x": at[0], "y": at[1]}]
    return "Input.dispatchTouchEvent", {"type": kind, "touchPoints": points}

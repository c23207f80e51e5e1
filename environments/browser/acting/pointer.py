"""The mouse: real events at points of the window. Whether they reach what was chosen is proven in `aim.py`."""

import asyncio
from typing import Any

from environments.browser.chromium.cdp import Params
from environments.browser.observation.projection import Point
from environments.browser.page.page import Page

INPUT_TIMEOUT_S = 10.0  # a page that does not even take a click hangs
DRAG_STEPS = 8  # pages follow the mouse on its way, not only where it ends
DRAG_PAUSE_S = 0.02


async def click(page: Page, at: Point, button: str = "left", count: int = 1, modifiers: int = 0) -> None:
    """Move there, press and let go, `count` times."""
    events = [_mouse("mouseMoved", at)]
    for number in range(1, count + 1):
        pressed = {"button": button, "clickCount": number, "modifiers": modifiers}
        events += [_mouse("mousePressed", at, **pressed), _mouse("mouseReleased", at, **pressed)]
    page.mouse = at
    await page.send_all(events, INPUT_TIMEOUT_S)


async def hover(page: Page, at: Point) -> None:
    """Move there."""
    page.mouse = at
    await page.send_all([_mouse("mouseMoved", at)], INPUT_TIMEOUT_S)


async def wheel(page: Page, at: Point, right: float, down: float) -> None:
    """Turn the wheel there, by CSS pixels."""
    page.mouse = at
    await page.send_all([_mouse("mouseWheel", at, deltaX=right, deltaY=down)], INPUT_TIMEOUT_S)


async def drag(page: Page, start: Point, end: Point) -> None:
    """Press at `start`, move to `end` in steps, let go."""
    held, page.mouse = {"button": "left", "buttons": 1}, end
    await page.send_all(
        [_mouse("mouseMoved", start), _mouse("mousePressed", start, button="left", clickCount=1)], INPUT_TIMEOUT_S
    )
    for step in range(1, DRAG_STEPS + 1):
        share = step / DRAG_STEPS
        at = start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share
        await page.send_all([_mouse("mouseMoved", at, **held)], INPUT_TIMEOUT_S)
        await asyncio.sleep(DRAG_PAUSE_S)
    await page.send_all([_mouse("mouseMoved", end, **held), _released(end)], INPUT_TIMEOUT_S)


def _released(at: Point) -> tuple[str, Params]:
    return _mouse("mouseReleased", at, button="left", clickCount=1)


def _mouse(kind: str, at: Point, **more: Any) -> tuple[str, Params]:
    return "Input.dispatchMouseEvent", {"type": kind, "x": at[0], "y": at[1], **more}

"""The mouse: where a node of the page is to be clicked, also inside frames, and real mouse events there."""

import asyncio
from dataclasses import dataclass
from typing import Any

from environments.browser.cdp import Params, RefusedError
from environments.browser.frames import Frame
from environments.browser.page import Page, script
from environments.browser.projection import Box, overlap

INPUT_TIMEOUT_S = 10.0  # a page that does not even take a click hangs
DRAG_STEPS = 8  # pages follow the mouse on its way, not only where it ends
DRAG_PAUSE_S = 0.02

Point = tuple[float, float]


@dataclass(frozen=True)
class Place:
    """Where to click a node, in the viewport, and what `locate.js` says of it."""

    at: Point
    tag: str
    type: str
    listbox: bool
    disabled: bool
    slider: bool
    covered: str | None


async def locate(page: Page, node: Params) -> Place | None:
    """Where the node is, scrolled to if need be; None when it has no place any more. RefusedError when it is gone."""
    frame = page.frame_of(node)
    for _ in range(2):
        place = await place_of(page, frame)
        left, top, width, height = place.shown
        corners = (*place.inside((left, top)), *place.inside((left + width, top + height)))
        visible = None if frame is page.frames.main else corners
        found: dict[str, Any] | None = await page.run_on(node, script("locate.js"), visible)
        if found is None or "scrolled" not in found:
            break
    if found is None or "scrolled" in found:
        return None
    return Place(place.outside((found.pop("x"), found.pop("y"))), **found)


@dataclass(frozen=True)
class FramePlace:
    """Where a frame's document begins in the viewport, the part of the viewport it is seen in, and how large one of its
    pixels is drawn there, across and down."""

    origin: Point
    shown: Box
    scale: Point = (1.0, 1.0)

    def inside(self, at: Point) -> Point:
        """A point of the viewport in the document's own pixels."""
        return (at[0] - self.origin[0]) / self.scale[0], (at[1] - self.origin[1]) / self.scale[1]

    def outside(self, at: Point) -> Point:
        """The other way round."""
        return self.origin[0] + at[0] * self.scale[0], self.origin[1] + at[1] * self.scale[1]


async def place_of(page: Page, frame: Frame) -> FramePlace:
    """Of a frame that is not turned; RefusedError when it is gone."""
    if frame is page.frames.main:
        return FramePlace((0.0, 0.0), (0.0, 0.0, page.viewport.width, page.viewport.height))
    parent = page.frames.get(frame.parent_id)
    if parent is None:
        raise RefusedError("the frame is gone")
    around = await place_of(page, parent)
    owner = await page.send("DOM.getFrameOwner", {"frameId": frame.id}, frame=parent)
    node = {"backendDOMNodeId": owner["backendNodeId"], "frameId": parent.id}
    left, top, width, height, across, down = await page.run_on(node, script("content_box.js"))
    origin, (wide, high) = around.outside((left, top)), around.scale
    shown = overlap((*origin, width * wide, height * high), around.shown)
    return FramePlace(origin, shown, (across * wide, down * high))


async def click(page: Page, at: Point, button: str = "left", count: int = 1) -> None:
    """Move there, press and let go, `count` times."""
    events = [_mouse("mouseMoved", at)]
    for number in range(1, count + 1):
        pressed = {"button": button, "clickCount": number}
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

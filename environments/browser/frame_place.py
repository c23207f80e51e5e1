"""Where a frame is drawn in the window, however it is moved, scaled or turned, and the way from one to the other."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from environments.browser.cdp import Params, RefusedError
from environments.browser.frames import Frame
from environments.browser.page import Page
from environments.browser.projection import Box, overlap

Point = tuple[float, float]

_SHOWS = """function (points) {
  elcano.reveal(this);
  return points.map(([x, y]) => elcano.topmost(x, y) === this);
}"""


@dataclass(frozen=True)
class FramePlace:
    """A frame's own pixels in the window. `shown` is the part of the window that it is seen in.

    Args:
        origin: where its upper left corner is drawn.
        across: where one pixel to the right leads from there, `down` one pixel downwards.
        parent: the place of the frame around it, None for the main one; `owner` its `<iframe>` there.
        process: the place of the outermost frame that the same process draws, None for this one itself.
    """

    origin: Point
    across: Point
    down: Point
    shown: Box
    parent: "FramePlace | None" = None
    owner: Params | None = None
    process: "FramePlace | None" = None

    def outside(self, at: Point) -> Point:
        """A point of the frame in the window."""
        return (
            self.origin[0] + at[0] * self.across[0] + at[1] * self.down[0],
            self.origin[1] + at[0] * self.across[1] + at[1] * self.down[1],
        )

    def inside(self, at: Point) -> Point:
        """The other way round; RefusedError where the frame is drawn as a line."""
        x, y = at[0] - self.origin[0], at[1] - self.origin[1]
        area = self.across[0] * self.down[1] - self.across[1] * self.down[0]
        if not area:
            raise RefusedError("the frame has no area")
        return (x * self.down[1] - y * self.down[0]) / area, (y * self.across[0] - x * self.across[1]) / area

    @property
    def visible(self) -> Box:
        """(left, top, right, bottom) of what the window shows of it, in its own pixels."""
        left, top, width, height = self.shown
        corners = [(left, top), (left + width, top), (left, top + height), (left + width, top + height)]
        across, down = zip(*map(self.inside, corners), strict=True)
        return min(across), min(down), max(across), max(down)

    async def free(self, page: Page, points: Sequence[Point]) -> list[Point]:
        """Those of these points of the frame, in the window, that nothing in the frames around it covers."""
        window, place = [self.outside(point) for point in points], self
        while window and place.parent is not None and place.owner is not None:
            asked = [place.parent.inside(point) for point in window]
            shows = await page.run_on(place.owner, _SHOWS, asked)
            window = [point for point, does in zip(window, shows, strict=True) if does]
            place = place.parent
        return window


async def place_of(page: Page, frame: Frame) -> FramePlace:
    """Where a frame is drawn; RefusedError when it is gone."""
    if frame is page.frames.main:
        window = (0.0, 0.0, float(page.viewport.width), float(page.viewport.height))
        return FramePlace((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), window)
    parent = page.frames.get(frame.parent_id)
    if parent is None:
        raise RefusedError("the frame is gone")
    around, owner, (width, height) = await asyncio.gather(
        place_of(page, parent),
        page.send("DOM.getFrameOwner", {"frameId": frame.id}, frame=parent),
        page.run("() => [innerWidth, innerHeight]", frame=frame),
    )
    model = await page.send("DOM.getBoxModel", {"backendNodeId": owner["backendNodeId"]}, frame=parent)
    if not (width and height):
        raise RefusedError("the frame is not drawn")
    process = around.process or around  # boxes are told as that one sees them
    quad = model["model"]["content"]
    corners = [process.outside((quad[index], quad[index + 1])) for index in range(0, 8, 2)]
    origin, right, _, below = corners
    xs, ys = zip(*corners, strict=True)
    shown = overlap((min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)), around.shown)
    return FramePlace(
        origin,
        ((right[0] - origin[0]) / width, (right[1] - origin[1]) / width),
        ((below[0] - origin[0]) / height, (below[1] - origin[1]) / height),
        shown,
        around,
        {"backendDOMNodeId": owner["backendNodeId"], "frameId": parent.id},
        process if frame.session_id == parent.session_id else None,
    )

"""Where a frame is drawn in the window, under any transform, and the way from one to the other."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from environments.browser.chromium.cdp import Params, RefusedError
from environments.browser.observation.projection import Box, Point, Projection, bounds, overlap
from environments.browser.page.frames import Frame
from environments.browser.page.page import Page

_SHOWS = """function (points) {
  elcano.reveal(this);
  return points.map(([x, y]) => elcano.topmost(x, y) === this);
}"""


@dataclass(frozen=True)
class FramePlace:
    """A frame's own pixels in the window. `shown` is the part of the window that it is seen in.

    Args:
        projection: of its pixels into the window.
        parent: the place of the frame around it, None for the main one; `owner` its `<iframe>` there.
        process: the place of the outermost frame that the same process draws, None for this one itself.
    """

    projection: Projection
    shown: Box
    parent: "FramePlace | None" = None
    owner: Params | None = None
    process: "FramePlace | None" = None

    def outside(self, at: Point) -> Point:
        """A point of the frame in the window."""
        return self.projection.point(*at)

    def inside(self, at: Point) -> Point:
        """The other way round; RefusedError where the frame is drawn as a line."""
        return self._back.point(*at)

    @property
    def visible(self) -> Box:
        """(left, top, right, bottom) of what the window shows of it, in its own pixels."""
        left, top, width, height = bounds(self._back.corners(self.shown))
        return left, top, left + width, top + height

    @property
    def _back(self) -> Projection:
        if (back := self.projection.inverse()) is None:
            raise RefusedError("the frame has no area")
        return back

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
        return FramePlace(Projection(), window)
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
    return FramePlace(
        Projection.of(width, height, [value for corner in corners for value in corner]),
        overlap(bounds(corners), around.shown),
        around,
        {"backendDOMNodeId": owner["backendNodeId"], "frameId": parent.id},
        process if frame.session_id == parent.session_id else None,
    )

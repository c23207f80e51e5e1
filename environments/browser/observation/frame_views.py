"""The frames of a page that show something: where in the window, and how much each holds."""

import asyncio
import contextlib
import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from environments.browser.chromium.cdp import RefusedError
from environments.browser.observation.projection import (
    Box,
    Point,
    Projection,
    bounds,
    center,
    clip,
    contains,
    even,
    holding,
    overlap,
)
from environments.browser.page.frames import Frame
from environments.browser.page.page import Page
from environments.browser.scripts import script
from environments.faults import BrowserError

FRAME_TIMEOUT_S = 5.0  # one that does not answer is left out

# What Chromium needs seconds for when it is asked for a whole document.
MAX_ELEMENTS = 10_000
MAX_TEXT = 100_000  # characters of one text: its time grows with the square of the lines
MAX_DATA = 2_000_000  # characters of data: addresses, and of scripts and styles
MAX_STAND_INS = 300

_NOWHERE: Box = (0.0, 0.0, 0.0, 0.0)
_LET_THROUGH = "function () { elcano.reveal(this); return elcano.shownOf(this); }"


@dataclass(frozen=True)
class FrameView:
    """One frame, and how it is drawn.

    Args:
        owner: backend node id of its `<iframe>`, 0 for the main frame.
        projection: of its pixels as they are laid out, into the window.
        inside: the part of it that can be seen, in those pixels.
        shown: that part in the window.
        zoom: how many pixels of the layout one of its CSS pixels is.
        is_huge: whether it is too large to be asked for whole.
        url: of its document.
        stand_ins: what `survey.js` says of elements that are seen where something else has its box.
        let_through: the part of the window that the areas around its `<iframe>` show it in, None for all: they may be
            scrolled, so what they cut off is listed as in any list that scrolls.
        around: the frame that it is in; None of the main frame.
    """

    frame: Frame
    owner: int
    projection: Projection
    inside: Box
    shown: Box
    zoom: float = 1.0
    is_huge: bool = False
    url: str = ""
    stand_ins: Sequence[dict[str, Any]] = ()
    let_through: Box | None = None
    around: "FrameView | None" = None

    @classmethod
    def of_window(cls, width: float, height: float, frame_id: str = "", session_id: str = "") -> "FrameView":
        """The main frame's."""
        window = (0.0, 0.0, float(width), float(height))
        return cls(Frame(frame_id, "", session_id), 0, Projection(), window, window)

    @property
    def is_upright(self) -> bool:
        """Whether it is neither turned nor cut off."""
        skew = max(abs(self.projection.matrix[place]) for place in (1, 3, 6, 7))
        return skew < 1e-9 and self.region is None

    @property
    def region(self) -> dict[str, float] | None:
        """The edges of what the areas around its `<iframe>` show of it, in its CSS pixels; None where that is all."""
        back = self.projection.inverse()
        if self.let_through is None or back is None or _holds(self.let_through, self.shown):
            return None
        left, top, width, height = overlap(bounds(back.corners(overlap(self.shown, self.let_through))), self.inside)
        edges = {"left": left, "top": top, "right": left + width, "bottom": top + height}
        return {name: value / self.zoom for name, value in edges.items()}

    def place(self, box: Box) -> tuple[Box, Box]:
        """Where a box of the frame, in pixels of its layout, is drawn in the window, and what is seen of it there."""
        if not self.owner:
            return box, overlap(box, self.shown)
        seen = self._seen(box, self.shown)
        return self.projection.box(box), bounds(seen) if seen else _NOWHERE

    def pressable(self, box: Box) -> Box:
        """What of a box of the frame a press in the window may reach; without area where that is nothing."""
        if not self.owner:
            return overlap(box, self.shown)
        area = self.shown if self.let_through is None else overlap(self.shown, self.let_through)
        seen, middle = self._seen(box, area), self.projection.point(*center(overlap(box, self.inside)))
        if not seen:
            return _NOWHERE
        box = bounds(seen)
        return even(box, middle) if self.projection.is_in_perspective and contains(box, middle) else holding(seen)

    def thickness(self, box: Box) -> float:
        """The shorter of a box's sides as it is drawn, which turned is less than what is around it."""
        first, second, _, last = self.projection.corners(overlap(box, self.inside))
        return min(math.dist(first, second), math.dist(first, last))

    def _seen(self, box: Box, area: Box) -> list[Point]:
        """What of a box lies in an area of the window and in the frames around, which may be turned."""
        seen, around = clip(self.projection.corners(overlap(box, self.inside)), area), self.around
        while seen and around is not None:
            into, back = around.projection, around.projection.inverse() or Projection()
            seen = [into.point(*point) for point in clip([back.point(*point) for point in seen], around.inside)]
            around = around.around
        return seen


async def find_views(page: Page) -> list[FrameView]:
    """Main frame first, parents before what is in them. RefusedError when the main document is being replaced."""
    main, *inner = page.frames
    asked = asyncio.gather(*(_ask(page, frame) for frame in inner))
    found, rest = await asyncio.gather(_survey(page, main, 30.0), asked)
    window = FrameView.of_window(page.viewport.width, page.viewport.height, main.id, main.session_id)
    views = {main.id: dataclasses.replace(window, is_huge=found.is_huge, url=found.url, stand_ins=found.stand_ins)}
    for frame, answer in zip(inner, rest, strict=True):
        parent = views.get(frame.parent_id)
        if answer is None or parent is None:
            continue
        (owner, quad, let_through), survey = answer
        # They are told in the CSS pixels of the document around.
        quad = [value * parent.zoom for value in quad]
        left, top, width, height = (value * parent.zoom for value in let_through)
        area = bounds(parent.projection.corners((left, top, width, height)))
        area = overlap(area, parent.let_through) if parent.let_through else area
        view = _view(frame, owner, quad, survey, survey.ratio / found.ratio, _root(views, parent), parent)
        if view is not None:
            views[frame.id] = dataclasses.replace(view, let_through=area)
    return list(await asyncio.gather(*(_as_cut_off(page, view) for view in views.values())))


async def _as_cut_off(page: Page, view: FrameView) -> FrameView:
    """With what is seen where something else has its box looked for in what is shown of the frame."""
    if view.region is None:
        return view
    with contextlib.suppress(RefusedError, BrowserError):
        found = await _survey(page, view.frame, FRAME_TIMEOUT_S, view.region)
        return dataclasses.replace(view, stand_ins=found.stand_ins)
    return view


@dataclass(frozen=True)
class _Survey:
    """What `survey.js` says."""

    elements: int
    longest: int
    data: int
    width: float
    height: float
    ratio: float
    url: str
    stand_ins: Sequence[dict[str, Any]]

    @property
    def is_huge(self) -> bool:
        return self.elements > MAX_ELEMENTS or self.longest > MAX_TEXT or self.data > MAX_DATA


async def _survey(page: Page, frame: Frame, timeout_s: float, region: dict[str, float] | None = None) -> _Survey:
    return _Survey(*await page.run(script("survey.js"), MAX_STAND_INS, region, timeout_s=timeout_s, frame=frame))


async def _ask(page: Page, frame: Frame) -> tuple[tuple[int, list[float], list[float]], _Survey] | None:
    """What `_owner` says of its `<iframe>`, and how much it is; None of one that is not drawn, went away or hangs."""
    with contextlib.suppress(RefusedError, BrowserError):
        return await asyncio.gather(_owner(page, frame), _survey(page, frame, FRAME_TIMEOUT_S))
    return None


async def _owner(page: Page, frame: Frame) -> tuple[int, list[float], list[float]]:
    """Its `<iframe>`, where that shows it in the process's own viewport, and its box as far as it is not cut off."""
    parent = page.frames.get(frame.parent_id) or page.frames.main
    owner = page.frames.owners.get(frame.id)
    if owner is None:
        found = await page.send("DOM.getFrameOwner", {"frameId": frame.id}, FRAME_TIMEOUT_S, parent)
        owner = page.frames.owners[frame.id] = found["backendNodeId"]
    box, let_through = await asyncio.gather(
        page.send("DOM.getBoxModel", {"backendNodeId": owner}, FRAME_TIMEOUT_S, parent),
        page.run_on({"backendDOMNodeId": owner, "frameId": parent.id}, _LET_THROUGH),
    )
    return owner, box["model"]["content"], let_through


def _root(views: dict[str, FrameView], view: FrameView) -> FrameView:
    """The outermost frame that the same process draws around it: quadrangles are told in its viewport."""
    while (parent := views.get(view.frame.parent_id)) and parent.frame.session_id == view.frame.session_id:
        view = parent
    return view


def _view(
    frame: Frame, owner: int, quad: Sequence[float], survey: _Survey, zoom: float, root: FrameView, parent: FrameView
) -> FrameView | None:
    """None where nothing of it is shown."""
    width, height = survey.width * zoom, survey.height * zoom
    if not width or not height:
        return None
    projection = root.projection.after(Projection.of(width, height, quad))
    back = projection.inverse()
    if back is None:
        return None
    seen = clip(projection.corners((0.0, 0.0, width, height)), parent.shown)
    if not seen:
        return None
    inside, shown = bounds([back.point(*corner) for corner in seen]), bounds(seen)
    if not (shown[2] and shown[3]):
        return None
    return FrameView(
        *(frame, owner, projection, inside, shown, zoom, survey.is_huge, survey.url, survey.stand_ins), around=parent
    )


def _holds(outer: Box, inner: Box) -> bool:
    """Whether a box lies in another, but for half a pixel."""
    shared = overlap(outer, inner)
    return inner[2] - shared[2] < 0.5 and inner[3] - shared[3] < 0.5

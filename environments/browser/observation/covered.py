"""What frames show of their controls, asked of the browser: a menu of the page may lie over an `<iframe>`, and of what
is turned and cut off a box says little."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from environments.browser.chromium.cdp import RefusedError
from environments.browser.observation.frame_views import FrameView
from environments.browser.observation.projection import Box, Point, Projection, center
from environments.browser.observation.tree import CONTROLS
from environments.browser.page.page import Page

CELLS = 5  # of a box along each side, that are tried where its middle is covered
_AROUND = (0, 0), (-1, -1), (1, -1), (-1, 1), (1, 1)  # pixels, by one of which Chromium may round
_SHOWS_FRAMES = """(points) =>
  points.map(([x, y]) => ["IFRAME", "FRAME", "OBJECT", "EMBED"].includes(elcano.topmost(x, y)?.tagName))"""
_REACHES = """function (points) {
  const own = [this, ...(this.labels ?? [])];
  return points.map(([x, y]) => {
    const hit = elcano.topmost(x, y);
    return hit !== null && own.some((one) => elcano.holds(one, hit));
  });
}"""


async def find_covered(
    page: Page, views: Sequence[FrameView], nodes: Mapping[int, dict[str, Any]]
) -> dict[int, Box | None]:
    """Of each node in a frame that is not hit in its middle a part that is; None where none was found. By its number.
    RefusedError where the page is being replaced."""
    by_id = {view.frame.id: view for view in views}
    inner = [(label, by_id[node["frameId"]]) for label, node in nodes.items() if "frameId" in node]
    boxes: dict[int, Box] = {label: tuple(nodes[label]["union_bound"]) for label, _ in inner}
    are_shown = await _are_shown(page, by_id, [(view, center(boxes[label])) for label, view in inner])
    are_hit = await asyncio.gather(*(_are_hit(page, view, nodes[label], [boxes[label]]) for label, view in inner))
    free: dict[int, Box | None] = {}
    for (label, view), is_shown, (is_hit,) in zip(inner, are_shown, are_hit, strict=True):
        if not (is_shown and is_hit):
            cells = _cells(boxes[label])
            are_free = await _are_shown(page, by_id, [(view, center(cell)) for cell in cells])
            cells = [cell for cell, is_free in zip(cells, are_free, strict=True) if is_free]
            hit = zip(cells, await _are_hit(page, view, nodes[label], cells), strict=True)
            free[label] = next((cell for cell, is_hit in hit if is_hit), None)
    return free


async def _are_hit(page: Page, view: FrameView, node: dict[str, Any], boxes: Sequence[Box]) -> list[bool]:
    """Whether a control is hit in the middle of each box, in its own frame; not asked where that is plain."""
    if view.is_upright or not ("mark" in node or node["role"]["value"] in CONTROLS):
        return [True] * len(boxes)
    back = view.projection.inverse() or Projection()
    middles = [center(box) for box in boxes]
    points = [back.point(x + right, y + down) for x, y in middles for right, down in _AROUND]
    with contextlib.suppress(RefusedError):  # it went away
        hits = await page.run_on(node, _REACHES, [[x / view.zoom, y / view.zoom] for x, y in points])
        return [all(hits[first : first + len(_AROUND)]) for first in range(0, len(hits), len(_AROUND))]
    return [False] * len(boxes)


def _cells(box: Box) -> list[Box]:
    x, y, width, height = box
    across, down = width / CELLS, height / CELLS
    places = [(column, row) for row in range(CELLS) for column in range(CELLS)]
    return [(x + column * across, y + row * down, across, down) for column, row in places]


async def _are_shown(
    page: Page, by_id: Mapping[str, FrameView], points: Sequence[tuple[FrameView, Point]]
) -> list[bool]:
    """Whether each of the frames around shows a frame at a point of the window."""
    asked: dict[str, list[tuple[int, list[float]]]] = {}
    for index, (inner, point) in enumerate(points):
        view = inner
        while view.owner:
            view = by_id[view.frame.parent_id]
            back = view.projection.inverse() or Projection()
            x, y = back.point(*point)
            asked.setdefault(view.frame.id, []).append((index, [x / view.zoom, y / view.zoom]))
    are_shown = [True] * len(points)
    for frame_id, entries in asked.items():
        with contextlib.suppress(RefusedError):  # the frame went away
            shows = await page.run(_SHOWS_FRAMES, [point for _, point in entries], frame=by_id[frame_id].frame)
            for (index, _), does in zip(entries, shows, strict=True):
                are_shown[index] &= does
    return are_shown

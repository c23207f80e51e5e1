"""What the frames around leave free of what a frame shows: a menu of the page may lie over an `<iframe>`."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from environments.browser.chromium.cdp import RefusedError
from environments.browser.observation.frame_views import FrameView
from environments.browser.observation.projection import Box, Point, Projection, center
from environments.browser.page.page import Page

CELLS = 5  # of a box along each side, that are tried where its middle is covered
_SHOWS_FRAMES = """(points) =>
  points.map(([x, y]) => ["IFRAME", "FRAME", "OBJECT", "EMBED"].includes(elcano.topmost(x, y)?.tagName))"""

_REACHES = """(asked) => asked.map(([mark, x, y]) => {
  const [element, hit] = [elcano.marks[mark], elcano.topmost(x, y)];
  return hit !== null && [element, ...(element?.labels ?? [])].some((one) => one && elcano.holds(one, hit));
})"""


async def find_covered(
    page: Page, views: Sequence[FrameView], nodes: Mapping[int, dict[str, Any]]
) -> dict[int, Box | None]:
    """Of each node in a frame whose middle is covered by something in the frames around, a part that is not; None
    where that is nothing. By its number; RefusedError where the page is being replaced."""
    by_id = {view.frame.id: view for view in views}
    inner = [(label, by_id[node["frameId"]]) for label, node in nodes.items() if "frameId" in node]
    boxes = {label: tuple(nodes[label]["union_bound"]) for label, _ in inner}
    are_shown = await _are_shown(page, by_id, [(view, center(boxes[label])) for label, view in inner])
    covered = [(label, view) for (label, view), is_shown in zip(inner, are_shown, strict=True) if not is_shown]
    tries = [(label, view, cell) for label, view in covered for cell in _cells(boxes[label])]
    are_shown = await _are_shown(page, by_id, [(view, center(cell)) for _, view, cell in tries])
    tries = [one for one, is_shown in zip(tries, are_shown, strict=True) if is_shown]
    free: dict[int, Box | None] = {label: None for label, _ in covered}
    for label, _, cell in await _that_reach(page, nodes, tries):
        free[label] = free[label] or cell
    return free


async def _that_reach(
    page: Page, nodes: Mapping[int, dict[str, Any]], tries: Sequence[tuple[int, FrameView, Box]]
) -> list[tuple[int, FrameView, Box]]:
    """The cells of marks in which these are hit in their own frames, and all others."""
    asked: dict[str, list[tuple[int, list[float]]]] = {}
    for index, (label, view, cell) in enumerate(tries):
        if "mark" in nodes[label]:
            x, y = (view.projection.inverse() or Projection()).point(*center(cell))
            asked.setdefault(view.frame.id, []).append((index, [nodes[label]["mark"], x / view.zoom, y / view.zoom]))
    missed = set()
    views = {view.frame.id: view for _, view, _ in tries}
    for frame_id, entries in asked.items():
        with contextlib.suppress(RefusedError):  # the frame went away
            reached = await page.run(_REACHES, [entry for _, entry in entries], frame=views[frame_id].frame)
            missed |= {index for (index, _), does in zip(entries, reached, strict=True) if not does}
    return [one for index, one in enumerate(tries) if index not in missed]


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

"""What frames show of their controls, asked of the browser: a menu of the page may lie over an `<iframe>`, and of what
is turned and cut off a box says little."""

import asyncio
import contextlib
import itertools
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
    """Of each control in a frame that is not hit in its middle a part that is, by its number; None where none was
    found. RefusedError where the page is being replaced."""
    by_id = {view.frame.id: view for view in views}
    inner = {label: by_id[node["frameId"]] for label, node in nodes.items() if "frameId" in node and _is_control(node)}
    tries = [(label, tuple(nodes[label]["union_bound"])) for label in inner]
    hit = {label for label, _ in await _seen(page, inner, nodes, tries)}
    free: dict[int, Box | None] = dict.fromkeys(inner.keys() - hit)
    tries = [(label, cell) for label, box in tries if label in free for cell in _cells(box)]
    for label, cell in await _seen(page, inner, nodes, tries):
        free[label] = free[label] or cell
    return free


def _is_control(node: dict[str, Any]) -> bool:
    return "mark" in node or node["role"]["value"] in CONTROLS


async def _seen(
    page: Page,
    inner: Mapping[int, FrameView],
    nodes: Mapping[int, dict[str, Any]],
    tries: Sequence[tuple[int, Box]],
) -> list[tuple[int, Box]]:
    """Those boxes, by the number of what they are tried for, in whose middle the frames around show a frame, and this
    shows the control."""
    are_shown = await _are_shown(page, [(inner[label], center(box)) for label, box in tries])
    boxes: dict[int, list[Box]] = {}
    for (label, box), is_shown in zip(tries, are_shown, strict=True):
        if is_shown:
            boxes.setdefault(label, []).append(box)
    hits = await asyncio.gather(*(_are_hit(page, inner[label], nodes[label], own) for label, own in boxes.items()))
    pairs = [(label, box) for label, own in boxes.items() for box in own]
    return [pair for pair, is_hit in zip(pairs, itertools.chain.from_iterable(hits), strict=True) if is_hit]


async def _are_hit(page: Page, view: FrameView, node: dict[str, Any], boxes: Sequence[Box]) -> list[bool]:
    """Whether a control is hit in the middle of each box, in its own frame; not asked where that is plain."""
    if view.is_upright:
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


async def _are_shown(page: Page, points: Sequence[tuple[FrameView, Point]]) -> list[bool]:
    """Whether each of the frames around shows a frame at a point of the window."""
    asked: dict[str, tuple[FrameView, list[tuple[int, list[float]]]]] = {}
    for index, (inner, point) in enumerate(points):
        view = inner.around
        while view is not None:
            x, y = (view.projection.inverse() or Projection()).point(*point)
            asked.setdefault(view.frame.id, (view, []))[1].append((index, [x / view.zoom, y / view.zoom]))
            view = view.around
    are_shown = [True] * len(points)
    for view, entries in asked.values():
        with contextlib.suppress(RefusedError):  # the frame went away
            shows = await page.run(_SHOWS_FRAMES, [point for _, point in entries], frame=view.frame)
            for (index, _), does in zip(entries, shows, strict=True):
                are_shown[index] &= does
    return are_shown

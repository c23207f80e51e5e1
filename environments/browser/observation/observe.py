"""Observe a page in one go: what it says, where that is and the screenshot are asked for together, not node by node.

Two modes: the accessibility tree beside a plain screenshot (OpenWebVoyager), and set-of-marks, a screenshot with
numbered boxes beside a list of what they hold (WebVoyager). Each frame inside the page adds its part to the same round
trip, and each process that draws some of them its boxes. A page that is too large for this is read as far as its
viewport shows it.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

from common.shown.cut_text import cut_middle
from data.observation import Mode, Visibility
from environments.browser.chromium.cdp import Params, RefusedError
from environments.browser.observation.covered import find_covered
from environments.browser.observation.frame_views import FRAME_TIMEOUT_S, FrameView, find_views
from environments.browser.observation.layout import SNAPSHOT, in_closed_roots, lay_out
from environments.browser.observation.marks import MAX_TEXT, Found, draw, number
from environments.browser.observation.stand_ins import place_stand_ins
from environments.browser.observation.tree import AXNode, Document, build_tree
from environments.browser.observation.viewport_tree import read_viewport
from environments.browser.page.page import MAX_ADDRESS, Page
from environments.browser.scripts import script
from environments.environment import Observation
from environments.faults import BrowserError

SCREENSHOT = ("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True})

T = TypeVar("T")


async def observe(page: Page, visibility: Visibility, mode: Mode = "tree", fix_box_color: bool = False) -> Observation:
    """The page as it is now. `fix_box_color` makes all marks black."""
    screenshot = asyncio.create_task(page.send(*SCREENSHOT))
    try:
        views = await find_views(page)
        text, nodes = await (_marks(page, views) if mode == "marks" else _tree(page, views, visibility))
        image = (await screenshot)["data"]
    finally:
        screenshot.cancel()
    if mode == "marks":
        image = await asyncio.to_thread(draw, image, nodes, page.viewport.width, fix_box_color)
    return Observation(cut_middle(views[0].url, MAX_ADDRESS), text, nodes, image)


async def _tree(page: Page, views: Sequence[FrameView], visibility: Visibility) -> tuple[str, dict[int, AXNode]]:
    if any(view.is_huge for view in views):
        found = await _of_each(views, [read_viewport(page, view) for view in views])
        read = [(nodes, region) for _, (nodes, region) in found]
    else:
        await page.keep_accessible(None)
        snapshots, parts = await asyncio.gather(
            _snapshots(page, views), _of_each(views, [_nodes(page, view) for view in views])
        )
        if await _reveal(page, views, snapshots):  # what they hold was not surveyed
            return await _tree(page, await find_views(page), visibility)
        regions = lay_out(views, snapshots)
        read = [(nodes, regions[view.frame.id]) for view, nodes in parts if view.frame.id in regions]
    documents: dict[str, Document] = {}
    for nodes, region in read:
        view = region.view
        try:
            await place_stand_ins(page, view, nodes, region.boxes)
        except RefusedError:  # a frame that went away meanwhile shows nothing
            if not view.owner:
                raise
            continue
        documents[view.frame.id] = Document(nodes, region)
        if view.owner and view.frame.parent_id in documents:
            documents[view.frame.parent_id].frames[view.owner] = documents[view.frame.id]
    text, nodes = build_tree(documents[page.frames.main.id], visibility)
    for label, box in (await find_covered(page, views, nodes)).items():
        nodes[label] |= {"union_bound": list(box)} if box else {}
    return text, nodes


async def _marks(page: Page, views: Sequence[FrameView]) -> tuple[str, dict[int, AXNode]]:
    snapshots, found = await asyncio.gather(_snapshots(page, views), _marks_of(page, views))
    if await _reveal(page, views, snapshots):
        found = await _marks_of(page, views)
    text, nodes = number([Found(view, marks) for view, marks in found])
    if covered := await find_covered(page, views, nodes):
        free = {(nodes[label]["frameId"], nodes[label]["mark"]): box for label, box in covered.items()}
        text, nodes = number([Found(view, marks) for view, marks in found], free)
    return text, nodes


async def _marks_of(page: Page, views: Sequence[FrameView]) -> list[tuple[FrameView, list[dict[str, Any]]]]:
    asked = [page.run(script("marks.js"), 2 * MAX_TEXT, view.region, frame=view.frame) for view in views]
    return await _of_each(views, asked)


async def _reveal(page: Page, views: Sequence[FrameView], snapshots: dict[str, Params]) -> bool:
    """Make the closed shadow roots known to our scripts; whether some were not."""
    roots = [(view.frame, found) for view in views if (found := in_closed_roots(snapshots, view.frame))]
    return any([await page.reveal(*found) for found in roots])


async def _nodes(page: Page, view: FrameView) -> list[AXNode]:
    request = {"frameId": view.frame.id} if view.owner else {}
    return (await page.send("Accessibility.getFullAXTree", request, frame=view.frame))["nodes"]


async def _of_each(views: Sequence[FrameView], answers: Sequence[Awaitable[T]]) -> list[tuple[FrameView, T]]:
    """What frames answer, those left out that went away or hang; the main one has to."""
    asked = asyncio.gather(*(_or_none(answer) for answer in answers[1:]))
    main, inner = await asyncio.gather(answers[0], asked)
    return [
        (views[0], main),
        *((view, found) for view, found in zip(views[1:], inner, strict=True) if found is not None),
    ]


async def _or_none(answer: Awaitable[T]) -> T | None:
    with contextlib.suppress(RefusedError, BrowserError, TimeoutError):
        async with asyncio.timeout(FRAME_TIMEOUT_S):
            return await answer
    return None


async def _snapshots(page: Page, views: Sequence[FrameView]) -> dict[str, Params]:
    """The boxes of each process that draws some of the frames, by its session; none of a page that is too large."""
    if any(view.is_huge for view in views):
        return {}
    first: dict[str, FrameView] = {}
    for view in views:
        first.setdefault(view.frame.session_id, view)
    found = await _of_each([*first.values()], [page.send(*SNAPSHOT, frame=view.frame) for view in first.values()])
    return {view.frame.session_id: snapshot for view, snapshot in found}

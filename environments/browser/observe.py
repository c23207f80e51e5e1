"""Observe a page in one go: what it says, where that is and the screenshot are asked for together, not node by node.

Two modes: the accessibility tree beside a plain screenshot (OpenWebVoyager), and set-of-marks, a screenshot with
numbered boxes beside a list of what they hold (WebVoyager). Each frame inside the page adds its part to the same round
trip, and each process that draws some of them its boxes.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from data.observation import Mode, Visibility
from environments.browser.cdp import Params, RefusedError
from environments.browser.frames import Frame
from environments.browser.layout import SNAPSHOT, Box, Region, lay_out
from environments.browser.marks import Found, draw, number
from environments.browser.page import Page, script
from environments.browser.tree import AXNode, Document, build_tree
from environments.environment import Observation
from environments.faults import BrowserError

FRAME_TIMEOUT_S = 5.0  # one that does not answer is left out
SCREENSHOT = ("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True})


async def observe(page: Page, visibility: Visibility, mode: Mode = "tree", fix_box_color: bool = False) -> Observation:
    """The page as it is now. `fix_box_color` makes all marks black."""
    if mode == "marks":
        return await _observe_marks(page, fix_box_color)
    main, *inner = page.frames
    (screenshot, accessibility, snapshot), *rest = await asyncio.gather(
        page.send_all([SCREENSHOT, ("Accessibility.getFullAXTree", {}), SNAPSHOT]),
        *(_ask(page, frame, _tree_of(page, frame)) for frame in inner),
    )
    trees = [(main, 0, accessibility["nodes"])]
    trees += [(frame, part.owner, part.content) for frame, part in zip(inner, rest, strict=True) if part]
    regions = _lay_out(page, trees, snapshot, rest)
    tree, nodes = build_tree(_assemble(trees, regions), visibility)
    return Observation(_address(snapshot), tree, nodes, screenshot["data"])


async def _observe_marks(page: Page, fix_box_color: bool) -> Observation:
    main, *inner = page.frames
    (screenshot, snapshot), marks, *rest = await asyncio.gather(
        page.send_all([SCREENSHOT, SNAPSHOT]),
        _marks_of(page, main),
        *(_ask(page, frame, _marks_of(page, frame)) for frame in inner),
    )
    found = [(main, 0, marks)]
    found += [(frame, part.owner, part.content) for frame, part in zip(inner, rest, strict=True) if part]
    regions = _lay_out(page, found, snapshot, rest)
    placed = [Found(frame, regions[frame.id], marks) for frame, _, marks in found if frame.id in regions]
    text, nodes = number(placed)
    image = await asyncio.to_thread(draw, screenshot["data"], nodes, page.viewport.width, fix_box_color)
    return Observation(_address(snapshot), text, nodes, image)


@dataclass(frozen=True)
class _Part:
    """What a frame inside the page holds, the backend node id of its `<iframe>`, and boxes if it has a process."""

    content: Any
    owner: int
    snapshot: Params | None


async def _ask(page: Page, frame: Frame, content: Any) -> _Part | None:
    """None for a frame that went away or hangs: the others are there."""
    parent = page.frames.get(frame.parent_id) or page.frames.main
    has_process = parent.session_id != frame.session_id
    with contextlib.suppress(RefusedError, BrowserError):
        found, owner, snapshot = await asyncio.gather(
            content,
            page.send("DOM.getFrameOwner", {"frameId": frame.id}, FRAME_TIMEOUT_S, parent),
            page.send(*SNAPSHOT, FRAME_TIMEOUT_S, frame) if has_process else _nothing(),
        )
        return _Part(found, owner["backendNodeId"], snapshot)
    return None


async def _nothing() -> None:
    return None


async def _tree_of(page: Page, frame: Frame) -> list[AXNode]:
    return (await page.send("Accessibility.getFullAXTree", {"frameId": frame.id}, FRAME_TIMEOUT_S, frame))["nodes"]


async def _marks_of(page: Page, frame: Frame) -> list[dict[str, Any]]:
    return await page.run(script("marks.js"), timeout_s=FRAME_TIMEOUT_S if frame.parent_id else 30.0, frame=frame)


def _lay_out(
    page: Page, parts: Sequence[tuple[Frame, int, Any]], snapshot: Params, rest: Sequence[_Part | None]
) -> dict[str, Region]:
    snapshots = {page.session_id: snapshot}
    for (frame, _, _), part in zip(parts[1:], filter(None, rest), strict=True):
        if part.snapshot:
            snapshots[frame.session_id] = part.snapshot
    viewport: Box = (0.0, 0.0, page.viewport.width, page.viewport.height)
    return lay_out([(frame, owner) for frame, owner, _ in parts], snapshots, viewport)


def _assemble(trees: Sequence[tuple[Frame, int, list[AXNode]]], regions: dict[str, Region]) -> Document:
    """The main frame's document with the others in it; frames that show nothing are left out."""
    documents: dict[str, Document] = {}
    for frame, owner, nodes in trees:
        if frame.id in regions:
            documents[frame.id] = Document(nodes, regions[frame.id], frame.id if frame.parent_id else "")
            if frame.parent_id:
                documents[frame.parent_id].frames[owner] = documents[frame.id]
    return next(iter(documents.values()))


def _address(snapshot: Params) -> str:
    return snapshot["strings"][snapshot["documents"][0]["documentURL"]]

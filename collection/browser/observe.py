"""Observe a page in one go: accessibility tree, boxes and screenshot are asked for together, not node by node.

Each frame inside the page adds its own tree to the same round trip, and each process that draws some of them its boxes.
"""

import asyncio
import base64
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from collection.browser.cdp import Params, RefusedError
from collection.browser.faults import BrowserError
from collection.browser.frames import Frame
from collection.browser.page import Page
from collection.browser.tree import AXNode, Box, Document, Visibility, build_tree, overlap

CONTROL_TAGS = {"INPUT", "TEXTAREA", "SELECT"}
FRAME_TIMEOUT_S = 5.0  # one that does not answer is left out

_SNAPSHOT = ("DOMSnapshot.captureSnapshot", {"computedStyles": []})
_SCREENSHOT = ("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True})


@dataclass(frozen=True)
class Observation:
    """What the agent sees. `nodes` by label: accessibility nodes with their `union_bound` [x, y, width, height]."""

    url: str
    tree: str
    nodes: dict[int, AXNode]
    screenshot_base64: str

    @property
    def screenshot_png(self) -> bytes:
        return base64.b64decode(self.screenshot_base64)


async def observe(page: Page, visibility: Visibility) -> Observation:
    """The page as it is now."""
    main, *inner = page.frames
    (screenshot, accessibility, snapshot), *rest = await asyncio.gather(
        page.send_all([_SCREENSHOT, ("Accessibility.getFullAXTree", {}), _SNAPSHOT]),
        *(_ask_frame(page, frame) for frame in inner),
    )
    drawn = [(main, accessibility["nodes"], snapshot, 0)]
    drawn += [(frame, *found) for frame, found in zip(inner, rest, strict=True) if found]
    document = assemble(drawn, (0.0, 0.0, page.viewport.width, page.viewport.height))
    tree, nodes = build_tree(document, visibility)
    return Observation(_address(snapshot), tree, nodes, screenshot["data"])


Drawn = tuple[Frame, list[AXNode], Params | None, int]  # nodes; snapshot of its process if it is the first there; owner


async def _ask_frame(page: Page, frame: Frame) -> tuple[list[AXNode], Params | None, int] | None:
    """Accessibility nodes, boxes where the frame has a process of its own, and the id of its `<iframe>` there."""
    parent = page.frames.get(frame.parent_id) or page.frames.main
    is_first = parent.session_id != frame.session_id
    requests = [("Accessibility.getFullAXTree", {"frameId": frame.id}), *([_SNAPSHOT] if is_first else [])]
    with contextlib.suppress(RefusedError, BrowserError):  # it went away or hangs; the others are there
        answers, owner = await asyncio.gather(
            page.send_all(requests, FRAME_TIMEOUT_S, frame),
            page.send("DOM.getFrameOwner", {"frameId": frame.id}, FRAME_TIMEOUT_S, parent),
        )
        return answers[0]["nodes"], answers[1] if is_first else None, owner["backendNodeId"]
    return None


def assemble(drawn: Sequence[Drawn], viewport: Box) -> Document:
    """The main frame's document with the others in it; frames that show nothing are left out."""
    snapshots = {frame.session_id: snapshot for frame, _, snapshot, _ in drawn if snapshot}
    documents: dict[str, Document] = {}
    for frame, nodes, _, owner in drawn:  # parents come first
        found = _find(snapshots.get(frame.session_id), frame)
        if not frame.parent_id:
            boxes, controls = read_boxes(found[0], found[1])
            documents[frame.id] = Document(nodes, boxes, controls, viewport)
            continue
        parent = documents.get(frame.parent_id)
        around = parent.boxes.get(owner) if parent else None
        if found is None or around is None:
            continue
        content = _content_box(around, found[0])
        shown = overlap(content, parent.shown)
        if shown[2] and shown[3]:
            boxes, controls = read_boxes(found[0], found[1], content[:2])
            parent.frames[owner] = documents[frame.id] = Document(nodes, boxes, controls, shown, frame.id)
    return next(iter(documents.values()))


def _find(snapshot: Params | None, frame: Frame) -> tuple[Params, list[str]] | None:
    """The frame's part of a snapshot, and the strings it refers to."""
    if snapshot is None:
        return None
    strings = snapshot["strings"]
    for document in snapshot["documents"]:
        if strings[document["frameId"]] == frame.id:
            return document, strings
    return None


def _content_box(around: Box, document: Params) -> Box:
    """Where an `<iframe>` shows its document: its box without border and padding, taken to be alike on all sides."""
    x, y, width, height = around
    _, _, inner_width, inner_height = document["layout"]["bounds"][0]
    return x + (width - inner_width) / 2, y + (height - inner_height) / 2, inner_width, inner_height


def read_boxes(
    document: Params, strings: list[str], origin: tuple[float, float] = (0.0, 0.0)
) -> tuple[dict[int, Box], set[int]]:
    """Boxes in the viewport by backend node id, and the ids of form controls, of one document of a snapshot."""
    ids = document["nodes"]["backendNodeId"]
    left, top = document.get("scrollOffsetX", 0) - origin[0], document.get("scrollOffsetY", 0) - origin[1]
    boxes = {
        ids[index]: (x - left, y - top, width, height)
        for index, (x, y, width, height) in zip(
            document["layout"]["nodeIndex"], document["layout"]["bounds"], strict=True
        )
    }
    names = document["nodes"]["nodeName"]
    controls = {ids[index] for index, name in enumerate(names) if name >= 0 and strings[name] in CONTROL_TAGS}
    return boxes, controls


def _address(snapshot: Params) -> str:
    return snapshot["strings"][snapshot["documents"][0]["documentURL"]]

"""Where things are drawn: boxes out of DOM snapshots, those of frames moved to where their `<iframe>` shows them."""

from collections.abc import Sequence
from dataclasses import dataclass

from environments.browser.cdp import Params
from environments.browser.frames import Frame

Box = tuple[float, float, float, float]  # x, y, width, height in the viewport

CONTROL_TAGS = {"INPUT", "TEXTAREA", "SELECT"}
SNAPSHOT = ("DOMSnapshot.captureSnapshot", {"computedStyles": []})


@dataclass(frozen=True)
class Region:
    """One frame. `content` is its own viewport, `shown` the part of it that the window shows.

    Args:
        boxes: box by backend node id, of the nodes that have one.
        controls: backend node ids of inputs, textareas and selects.
    """

    content: Box
    shown: Box
    boxes: dict[int, Box]
    controls: set[int]


def lay_out(frames: Sequence[tuple[Frame, int]], snapshots: dict[str, Params], viewport: Box) -> dict[str, Region]:
    """The regions of the frames that show something, by frame id.

    Args:
        frames: parents first, each with the backend node id of its `<iframe>` (0 for the main frame).
        snapshots: `DOMSnapshot.captureSnapshot` of each process that draws some, by session.
        viewport: the window's.
    """
    regions: dict[str, Region] = {}
    for frame, owner in frames:
        found = _find(snapshots.get(frame.session_id), frame)
        if found is None:
            continue
        document, strings = found
        content = shown = viewport
        if frame.parent_id:
            parent = regions.get(frame.parent_id)
            if parent is None or owner not in parent.boxes:
                continue
            content = _content_box(parent.boxes[owner], document)
            shown = overlap(content, parent.shown)
        if shown[2] and shown[3]:
            boxes, controls = _read_boxes(document, strings, content)
            regions[frame.id] = Region(content, shown, boxes, controls)
    return regions


def overlap(one: Box, other: Box) -> Box:
    """What two boxes share; width or height is 0 where they share nothing."""
    left, top = max(one[0], other[0]), max(one[1], other[1])
    right, bottom = min(one[0] + one[2], other[0] + other[2]), min(one[1] + one[3], other[1] + other[3])
    return left, top, max(0.0, right - left), max(0.0, bottom - top)


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


def _read_boxes(document: Params, strings: list[str], content: Box) -> tuple[dict[int, Box], set[int]]:
    ids = document["nodes"]["backendNodeId"]
    left, top = document.get("scrollOffsetX", 0) - content[0], document.get("scrollOffsetY", 0) - content[1]
    boxes = {
        ids[index]: (x - left, y - top, width, height)
        for index, (x, y, width, height) in zip(
            document["layout"]["nodeIndex"], document["layout"]["bounds"], strict=True
        )
    }
    names = document["nodes"]["nodeName"]
    controls = {ids[index] for index, name in enumerate(names) if name >= 0 and strings[name] in CONTROL_TAGS}
    return boxes, controls

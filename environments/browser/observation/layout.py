"""Where things are drawn: boxes out of DOM snapshots."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from environments.browser.chromium.cdp import Params
from environments.browser.observation.frame_views import FrameView
from environments.browser.observation.projection import Box
from environments.browser.page.frames import Frame

CONTROL_TAGS = {"INPUT", "TEXTAREA", "SELECT"}
HINTS = ("placeholder", "title", "name")  # attributes that say what a control is for, the best first
HOST_TAGS = {  # that may have a shadow root, besides custom elements
    *("ARTICLE", "ASIDE", "BLOCKQUOTE", "BODY", "DIV", "FOOTER", "H1", "H2", "H3", "H4", "H5", "H6", "HEADER"),
    *("MAIN", "NAV", "P", "SECTION", "SPAN"),
}
Hint = tuple[str, str]
SNAPSHOT = ("DOMSnapshot.captureSnapshot", {"computedStyles": []})


@dataclass(frozen=True)
class Region:
    """What lies where in one frame.

    Args:
        boxes: by backend node id, of the nodes that have one, in pixels of the frame's layout.
        controls: backend node ids of inputs, textareas and selects.
        hints: an attribute of theirs and what it says they are for.
    """

    view: FrameView
    boxes: dict[int, Box]
    controls: set[int]
    hints: dict[int, Hint] = field(default_factory=dict)


def in_closed_roots(snapshots: dict[str, Params], frame: Frame) -> list[int]:
    """Backend node ids of at least one node in each closed shadow root of a frame: scripts do not find these."""
    if (found := _find(snapshots.get(frame.session_id), frame.id)) is None:
        return []
    document, strings = found
    nodes, inside = document["nodes"], document["nodes"]["shadowRootType"]
    closed = {index for index, kind in zip(inside["index"], inside["value"], strict=True) if strings[kind] == "closed"}
    chosen: dict[tuple[int, bool], int] = {}
    for index in sorted(closed):
        host = nodes["parentIndex"][index]
        name = strings[nodes["nodeName"][host]]
        if host not in closed or name in HOST_TAGS:  # in a closed root the children of a host are of one or the other
            chosen.setdefault((host, False), index)
            chosen[host, True] = index
        elif "-" in name:
            chosen[index, True] = index
    return [nodes["backendNodeId"][index] for index in dict.fromkeys(chosen.values())]


def lay_out(views: Sequence[FrameView], snapshots: dict[str, Params]) -> dict[str, Region]:
    """The regions of the frames by frame id; `snapshots`: `DOMSnapshot.captureSnapshot` of each process, by session."""
    regions: dict[str, Region] = {}
    for view in views:
        if found := _find(snapshots.get(view.frame.session_id), view.frame.id):
            regions[view.frame.id] = Region(view, *_read_boxes(*found))
    return regions


def _find(snapshot: Params | None, frame_id: str) -> tuple[Params, list[str]] | None:
    """The frame's part of a snapshot, and the strings it refers to."""
    if snapshot is None:
        return None
    strings = snapshot["strings"]
    for document in snapshot["documents"]:
        if strings[document["frameId"]] == frame_id:
            return document, strings
    return None


def _read_boxes(document: Params, strings: list[str]) -> tuple[dict[int, Box], set[int], dict[int, Hint]]:
    ids = document["nodes"]["backendNodeId"]
    left, top = document.get("scrollOffsetX", 0), document.get("scrollOffsetY", 0)
    boxes = {
        ids[index]: (x - left, y - top, width, height)
        for index, (x, y, width, height) in zip(
            document["layout"]["nodeIndex"], document["layout"]["bounds"], strict=True
        )
    }
    names = document["nodes"]["nodeName"]
    controls = {ids[index]: index for index, name in enumerate(names) if name >= 0 and strings[name] in CONTROL_TAGS}
    attributes = document["nodes"].get("attributes", [])
    found = {node: _hint(attributes[index], strings) for node, index in controls.items() if index < len(attributes)}
    hints = {node: hint for node, hint in found.items() if hint}
    return boxes, set(controls), hints


def _hint(attributes: Sequence[int], strings: list[str]) -> Hint | None:
    """Of a control's names and values in turn."""
    found = {strings[name]: strings[value] for name, value in zip(attributes[::2], attributes[1::2], strict=True)}
    return next(((name, " ".join(hint.split())) for name in HINTS if (hint := found.get(name, "")).strip()), None)

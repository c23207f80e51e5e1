"""The accessibility tree of what a frame's viewport shows, for documents that are too large to be asked for whole.

Chromium needs half a minute for the tree of a text of two megabytes, or of 200,000 nodes; what the viewport shows of
them is asked for node by node.
"""

from typing import Any

from common.shown.cut_text import left_out
from environments.browser.observation.frame_views import FrameView
from environments.browser.observation.layout import Region
from environments.browser.observation.tree import MAX_OPTIONS, AXNode, with_more_options
from environments.browser.page.page import Page
from environments.browser.scripts import script

MAX_NODES = 1500  # in view; the tree prints 301
MAX_NAMED_TEXT = 10_000  # characters of a text that the browser names itself


async def read_viewport(page: Page, view: FrameView) -> tuple[list[AXNode], Region]:
    """The nodes, root first, and their boxes. RefusedError when the document is being replaced."""
    limits = MAX_NODES, MAX_NAMED_TEXT, MAX_OPTIONS
    entries: list[dict[str, Any]] = await page.run(script("viewport_tree.js"), *limits, frame=view.frame)
    objects = await page.remembered("inView", view.frame)
    asked = [index for index, entry in enumerate(entries) if entry["text"] is None]
    requests = [
        ("Accessibility.getPartialAXTree", {"objectId": objects[index], "fetchRelatives": False}) for index in asked
    ]
    await page.keep_accessible(view.frame)
    answers = await page.send_all(requests, frame=view.frame)
    named = {index: answer["nodes"][0] for index, answer in zip(asked, answers, strict=True)}
    nodes: list[AXNode] = []
    for index, entry in enumerate(entries):
        node = {**(named.get(index) or _long(entry, nodes)), "nodeId": str(index), "childIds": []}
        nodes.append(with_more_options(node, entry["more"]) if entry.get("more") else node)
        if index:
            nodes[entry["parent"]]["childIds"].append(str(index))
    boxes = {
        node["backendDOMNodeId"]: tuple(value * view.zoom for value in entry["box"])
        for node, entry in zip(nodes, entries, strict=True)
        if "backendDOMNodeId" in node
    }
    return nodes, Region(view, boxes, set())


def _long(entry: dict[str, Any], nodes: list[AXNode]) -> AXNode:
    """A long text, which stands for the element that holds it, or a title; with notes of what is not told."""
    before, after = (left_out(entry[side]) if entry[side] else "" for side in ("before", "after"))
    node = {"role": {"value": "StaticText"}, "name": {"value": f"{before}{entry['text']}{after}".strip()}}
    if not nodes:
        return {**node, "role": {"value": "RootWebArea"}}
    around = nodes[entry["parent"]].get("backendDOMNodeId")
    return node if around is None else {**node, "backendDOMNodeId": around}

"""Observe a page in one go: accessibility tree, boxes and screenshot are asked for together, not node by node."""

import base64
from dataclasses import dataclass

from collection.browser.cdp import Params
from collection.browser.page import Page
from collection.browser.tree import AXNode, Box, Visibility, build_tree

CONTROL_TAGS = {"INPUT", "TEXTAREA", "SELECT"}


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
    screenshot, accessibility, snapshot = await page.send_all(
        [
            ("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True}),
            ("Accessibility.getFullAXTree", {}),
            ("DOMSnapshot.captureSnapshot", {"computedStyles": []}),
        ]
    )
    boxes, controls = read_boxes(snapshot)
    viewport = page.viewport
    tree, nodes = build_tree(accessibility["nodes"], boxes, controls, viewport.width, viewport.height, visibility)
    url = snapshot["strings"][snapshot["documents"][0]["documentURL"]]
    return Observation(url, tree, nodes, screenshot["data"])


def read_boxes(snapshot: Params) -> tuple[dict[int, Box], set[int]]:
    """Boxes in the viewport by backend node id, and the ids of form controls; main document only, as the seeds."""
    document, strings = snapshot["documents"][0], snapshot["strings"]
    ids = document["nodes"]["backendNodeId"]
    left, top = document.get("scrollOffsetX", 0), document.get("scrollOffsetY", 0)
    boxes = {
        ids[index]: (x - left, y - top, width, height)
        for index, (x, y, width, height) in zip(
            document["layout"]["nodeIndex"], document["layout"]["bounds"], strict=True
        )
    }
    names = document["nodes"]["nodeName"]
    controls = {ids[index] for index, name in enumerate(names) if name >= 0 and strings[name] in CONTROL_TAGS}
    return boxes, controls

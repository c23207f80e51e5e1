"""Elements that are seen where something else has its box: areas of a picture, and controls behind their labels.

Chromium's tree holds areas without a place and leaves out inputs that are not drawn. `stand_ins.js` says where a user
sees them; here they come into the tree.
"""

from typing import Any

from environments.browser.frame_views import FrameView
from environments.browser.page import Page
from environments.browser.projection import Box
from environments.browser.tree import AXNode


async def place_stand_ins(page: Page, view: FrameView, nodes: list[AXNode], boxes: dict[int, Box]) -> None:
    """Give the areas and hidden controls of a frame their nodes and boxes. RefusedError when its document is gone."""
    if not view.stand_ins:
        return
    objects = await page.remembered("standIns", view.frame)
    requests = [("DOM.describeNode", {"objectId": object_id}) for object_id in objects]
    ids = [answer["node"]["backendNodeId"] for answer in await page.send_all(requests, frame=view.frame)]
    by_id = {node["backendDOMNodeId"]: node for node in nodes if "backendDOMNodeId" in node}
    for found, element, label in zip(view.stand_ins, ids[::2], ids[1::2], strict=False):
        x, y, width, height = (value * view.zoom for value in found["box"])
        boxes[element] = (x, y, width, height)
        known = by_id.get(element)
        if element == label or (known is not None and not known.get("ignored")):
            continue
        if around := by_id.get(label):  # what the label says is said by its control
            around |= _control(element, found)


def _control(backend_id: int, found: dict[str, Any]) -> AXNode:
    state = {} if found["role"] == "button" else {"checked": "true" if found["checked"] else "false"}
    properties = [("disabled", True)] * found["disabled"] + [*state.items()]
    return {
        "backendDOMNodeId": backend_id,
        "ignored": False,
        "role": {"value": found["role"]},
        "name": {"value": found["name"]},
        "properties": [{"name": name, "value": {"value": value}} for name, value in properties],
    }

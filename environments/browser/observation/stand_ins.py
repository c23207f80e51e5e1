"""Elements that are seen where something else has its box: areas of a picture, and controls behind their labels.

Chromium's tree holds areas without a place and leaves out inputs that are not drawn. `stand_ins.js` says where a user
sees them; here they come into the tree.
"""

from typing import Any

from environments.browser.observation.frame_views import FrameView
from environments.browser.observation.projection import Box
from environments.browser.observation.tree import AXNode
from environments.browser.page.page import Page


async def place_stand_ins(page: Page, view: FrameView, nodes: list[AXNode], boxes: dict[int, Box]) -> None:
    """Give the areas and hidden controls of a frame their nodes and boxes. RefusedError when its document is gone."""
    if not view.stand_ins:
        return
    objects = await page.remembered("standIns", view.frame)
    requests = [("DOM.describeNode", {"objectId": object_id}) for object_id in objects]
    ids = [answer["node"]["backendNodeId"] for answer in await page.send_all(requests, frame=view.frame)]
    by_id = {node["backendDOMNodeId"]: node for node in nodes if "backendDOMNodeId" in node}
    for found, element, around in zip(view.stand_ins, ids[::2], ids[1::2], strict=False):
        x, y, width, height = (value * view.zoom for value in found["box"])
        boxes[element] = (x, y, width, height)
        is_known = element in by_id and not by_id[element].get("ignored")
        if found["role"] is None or is_known or around not in by_id:
            continue
        node = _control(element, found)
        if found["role"] == "link":  # an area in a shadow root
            nodes.append({**node, "nodeId": f"area {element}", "childIds": []})
            by_id[around].setdefault("childIds", []).append(nodes[-1]["nodeId"])
        else:  # what the label says is said by its control
            by_id[around] |= node


def _control(backend_id: int, found: dict[str, Any]) -> AXNode:
    state = {} if found["role"] in ("button", "link") else {"checked": "true" if found["checked"] else "false"}
    properties: list[tuple[str, Any]] = [("disabled", True)] * found["disabled"] + [*state.items()]
    return {
        "backendDOMNodeId": backend_id,
        "ignored": False,
        "role": {"value": found["role"]},
        "name": {"value": found["name"]},
        "properties": [{"name": name, "value": {"value": value}} for name, value in properties],
    }

"""Accessibility tree -> the text OpenWebVoyager's models read: `[3] button 'Search'` a line, ids in visiting order.

Rules (spec/openwebvoyager.md §1.6): a node outside the viewport, without a box, without a name, or that repeats its
nearest printed ancestor's name is left out and its children take its place; at most about 300 lines.

Two differences, both because the released code asks each node for its box in a request of its own:
- Parts of a form control that have no box in the DOM snapshot (the text inside a textbox) take the control's box.
- The options of a closed `<select>` do too, so that the agent can see what it can choose. The seeds hid them.
"""

from collections.abc import Iterator
from typing import Any, Literal

AXNode = dict[str, Any]
Box = tuple[float, float, float, float]  # x, y, width, height in the viewport
Visibility = Literal["released", "correct"]

MAX_LINES = 300
MAX_OPTIONS = 30  # of one <select>; longer ones are chosen from by typing
VISIBLE_RATIO = 0.8
REPEATING_ROLES = {"StaticText", "heading", "image", "generic"}
HIDDEN_PROPERTIES = {
    "focusable",
    "editable",
    "readonly",
    "level",
    "settable",
    "multiline",
    "invalid",
    "hiddenRoot",
    "hidden",
    "controls",
    "labelledby",
    "describedby",
    "url",  # new in Chromium after the released models were trained
}


def build_tree(
    nodes: list[AXNode], boxes: dict[int, Box], controls: set[int], width: int, height: int, visibility: Visibility
) -> tuple[str, dict[int, AXNode]]:
    """Text and labelled nodes, each with its `union_bound`.

    Args:
        nodes: `Accessibility.getFullAXTree`.
        boxes: box by backend node id, of the nodes that have one.
        controls: backend node ids of inputs, textareas and selects.
        width, height: the viewport's.
        visibility: `released` keeps anything that overlaps the viewport by about a pixel, as the released code does by
            a slip of precedence (its models were trained so); `correct` asks for 80 % of the area.
    """
    by_id = {node["nodeId"]: node for node in reversed(nodes)}
    labelled: dict[int, AXNode] = {}
    lines = []
    for node, depth, box in _visit(nodes[0], by_id, boxes, controls, width, height, visibility):
        labelled[len(labelled) + 1] = {**node, "union_bound": list(box)}
        lines.append("\t" * depth + f"[{len(labelled)}] {_describe(node)}")
        if len(labelled) > MAX_LINES:
            break
    return "\n".join(lines), labelled


def _visit(
    root: AXNode,
    by_id: dict[str, AXNode],
    boxes: dict[int, Box],
    controls: set[int],
    width: int,
    height: int,
    visibility: Visibility,
) -> Iterator[tuple[AXNode, int, Box]]:
    """Printed nodes in order, with depth and box. On the stack: node, depth, nearest printed name, control's box."""
    stack: list[tuple[AXNode, int, str, Box | None]] = [(root, 0, "root", None)]
    while stack:
        node, depth, name_above, control_box = stack.pop()
        backend_id = node.get("backendDOMNodeId", 0)
        box = boxes.get(backend_id) or (control_box if backend_id else None)
        if node is root:
            box = (0.0, 0.0, 10.0, 10.0)
        if box and _is_visible(box, width, height, visibility) and _is_worth_a_line(node, name_above):
            yield node, depth, box
            depth, name_above = depth + 1, _text(node, "name")
        if backend_id in controls:
            control_box = box
        children = [by_id[child] for child in node.get("childIds", []) if child in by_id]
        if _text(node, "role") == "MenuListPopup":
            children = _shorten(children)
        stack.extend((child, depth, name_above, control_box) for child in reversed(children))


def _is_visible(box: Box, width: int, height: int, visibility: Visibility) -> bool:
    x, y, box_width, box_height = box
    if box_width == 0 or box_height == 0:
        return False
    overlap = max(0.0, min(x + box_width, width) - max(x, 0.0)) * max(0.0, min(y + box_height, height) - max(y, 0.0))
    if visibility == "released":
        return overlap / box_width * box_height >= VISIBLE_RATIO
    return overlap / (box_width * box_height) >= VISIBLE_RATIO


def _is_worth_a_line(node: AXNode, name_above: str) -> bool:
    role, name = _text(node, "role"), _text(node, "name").strip()
    return bool(name) and role != "gridcell" and not (name in name_above and role in REPEATING_ROLES)


def _describe(node: AXNode) -> str:
    words = [_text(node, "role"), repr(_text(node, "name"))]
    for entry in node.get("properties", []):
        if entry["name"] not in HIDDEN_PROPERTIES and "value" in entry["value"]:
            words.append(f"{entry['name']}: {entry['value']['value']}")
    return " ".join(words)


def _shorten(options: list[AXNode]) -> list[AXNode]:
    """The first options of a `<select>`, and the chosen one wherever it stands."""
    return options[:MAX_OPTIONS] + [option for option in options[MAX_OPTIONS:] if _is_selected(option)]


def _is_selected(option: AXNode) -> bool:
    return any(entry["name"] == "selected" and entry["value"].get("value") for entry in option.get("properties", []))


def _text(node: AXNode, field: str) -> str:
    return str(node.get(field, {}).get("value", ""))

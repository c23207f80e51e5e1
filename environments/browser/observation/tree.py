"""Accessibility tree -> the text OpenWebVoyager's models read: `[3] button 'Search'` a line, ids in visiting order.

Rules, as in OpenWebVoyager's `utils_webarena.py`: a node outside the viewport, without a box, without a name, or that
repeats its nearest printed ancestor's name is left out and its children take its place; at most about 300 lines.

Three differences, the first two because the released code asks each node for its box in a request of its own:
- Parts of a form control that have no box in the DOM snapshot (the text inside a textbox) take the control's box.
- The options of a closed `<select>` do too, so that the agent can see what it can choose. The seeds hid them.
- What an iframe shows stands below it, as far as the iframe's own box shows it. The seeds left it out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from common.shown.cut_text import cut_middle
from data.observation import Visibility
from environments.browser.observation.frame_views import FrameView
from environments.browser.observation.layout import Region
from environments.browser.observation.projection import Box, around, center, contains

AXNode = dict[str, Any]
_NOWHERE: Box = (0.0, 0.0, 0.0, 0.0)

MAX_LINES = 300
MAX_OPTIONS = 30  # of one <select>; longer ones are chosen from by typing
MAX_NAME = 4000  # characters of what one node says; less where the tree would be longer than `MAX_TREE`
MIN_NAME = 100
MAX_PROPERTY = 100
MAX_TREE = 60_000
MAX_INSIDE = 50  # nodes that are looked at for the box of the one around them
MAX_DEPTH = 50  # of a line's indentation
VISIBLE_RATIO = 0.8
CONTROLS = {
    *"textbox searchbox checkbox radio combobox listbox button link spinbutton slider switch".split(),
    *("Date", "DateTime", "InputTime", "ColorWell"),
}
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


@dataclass(frozen=True)
class Document:
    """What one frame shows.

    Args:
        nodes: `Accessibility.getFullAXTree` of the frame, root first.
        region: where they are drawn.
        frames: the frames inside, by the backend node id of their `<iframe>`.
    """

    nodes: list[AXNode]
    region: Region
    frames: dict[int, "Document"] = field(default_factory=dict)

    def by_id(self) -> dict[str, AXNode]:
        """The nodes by the ids that name them as children."""
        return {node["nodeId"]: node for node in reversed(self.nodes)}


class _Visit(NamedTuple):
    """A node to be visited: where it lies and what was printed above it."""

    document: Document
    by_id: dict[str, AXNode]
    node: AXNode
    depth: int
    name_above: str
    control_box: Box | None


def build_tree(document: Document, visibility: Visibility) -> tuple[str, dict[int, AXNode]]:
    """Text of at most about `MAX_TREE` characters, and labeled nodes, each with its `union_bound`, and its `frameId`
    where it is not in the main frame.

    Args:
        document: the main frame's.
        visibility: `released` keeps anything that overlaps the viewport by about a pixel, as the released code does by
            a slip of precedence (its models were trained so); `correct` asks for 80 % of the area; `complete` is as
            `released`, with controls that have no name, called by what an attribute says of them if one does, and with
            placeholders that are no part of the name, as a label may say something else.
    """
    labeled: dict[int, AXNode] = {}
    depths = []
    for view, node, depth, box in _visit(document, visibility):
        frame = {"frameId": view.frame.id} if view.owner else {}
        labeled[len(labeled) + 1] = {**node, "union_bound": list(box), **frame}
        depths.append(min(depth, MAX_DEPTH))
        if len(labeled) > MAX_LINES:
            break
    longest = MAX_NAME
    while True:
        lines = [
            "\t" * depth + f"[{label}] {_describe(node, longest)}"
            for depth, (label, node) in zip(depths, labeled.items(), strict=True)
        ]
        if longest <= MIN_NAME or sum(map(len, lines)) <= MAX_TREE:
            return "\n".join(lines), labeled
        longest //= 2


def _visit(main: Document, visibility: Visibility) -> Iterator[tuple[FrameView, AXNode, int, Box]]:
    """Printed nodes in order: frame, node, depth and box in the window."""
    stack = [_Visit(main, main.by_id(), main.nodes[0], 0, "root", None)]
    dropped: set[int] = set()  # backend node ids of options
    while stack:
        document, by_id, node, depth, name_above, control_box = stack.pop()
        backend_id, region = node.get("backendDOMNodeId", 0), document.region
        box = region.boxes.get(backend_id) or (control_box if backend_id else None)
        if backend_id and not (box and box[2] and box[3]) and _is_worth_a_line(node, name_above, visibility):
            box = _box_inside(document, by_id, node) or box
        if node is document.nodes[0]:
            shown = region.view.shown
            whole, seen = ((0.0, 0.0, 10.0, 10.0),) * 2 if document is main else (shown, shown)
        else:
            whole, seen = region.view.place(box) if box else (_NOWHERE, _NOWHERE)
        if backend_id in region.controls and (more := _superfluous(by_id, node)):
            node, dropped = with_more_options(node, len(more)), dropped | more
        if visibility == "complete" and (hint := region.hints.get(backend_id)):
            node = {**node, "hint": hint}
        if _is_visible(whole, seen, visibility) and _is_worth_a_line(node, name_above, visibility):
            yield region.view, node, depth, _to_press(region.view, box, whole)
            depth, name_above = depth + 1, _text(node, "name")
        if backend_id in region.controls:
            control_box = box
        if inner := document.frames.get(backend_id):
            stack.append(_Visit(inner, inner.by_id(), inner.nodes[0], depth, name_above, None))
            continue
        children = [by_id[child] for child in node.get("childIds", []) if child in by_id]
        children = [child for child in children if child.get("backendDOMNodeId", 0) not in dropped]
        stack.extend(_Visit(document, by_id, child, depth, name_above, control_box) for child in reversed(children))


def _to_press(view: FrameView, box: Box | None, whole: Box) -> Box:
    """Of a box whose center the window does not show the part that it does, if any."""
    part = view.pressable(box) if box else _NOWHERE
    return part if part[2] and part[3] and not contains(part, center(whole)) else whole


def _box_inside(document: Document, by_id: dict[str, AXNode], node: AXNode) -> Box | None:
    """Of what a node holds that has no box itself ("display: contents"), or one without an area."""
    boxes = [document.region.boxes.get(inner.get("backendDOMNodeId", 0)) for inner in _inside(by_id, node)]
    return around([box for box in boxes if box and box[2] and box[3]])


def _inside(by_id: dict[str, AXNode], node: AXNode) -> list[AXNode]:
    """The first nodes below, text boxes left out."""
    found, waiting = [], [*node.get("childIds", [])]
    while waiting and len(found) < MAX_INSIDE:
        inner = by_id.get(waiting.pop(0))
        if inner is not None and _text(inner, "role") != "InlineTextBox":
            found.append(inner)
            waiting += inner.get("childIds", [])
    return found


def _is_visible(whole: Box, seen: Box, visibility: Visibility) -> bool:
    """`whole`: a box in the window; `seen`: what of it can be seen there."""
    _, _, whole_width, whole_height = whole
    if whole_width == 0 or whole_height == 0:
        return False
    _, _, width, height = seen
    if visibility != "correct":
        return width * height / whole_width * whole_height >= VISIBLE_RATIO
    return width * height / (whole_width * whole_height) >= VISIBLE_RATIO


def _is_worth_a_line(node: AXNode, name_above: str, visibility: Visibility) -> bool:
    role, name = _text(node, "role"), _text(node, "name").strip()
    if not name and visibility == "complete":
        return role in CONTROLS
    return bool(name) and role != "gridcell" and not (name in name_above and role in REPEATING_ROLES)


def _describe(node: AXNode, longest: int) -> str:
    name, (attribute, hint) = _text(node, "name"), node.get("hint", ("", ""))
    words = [_text(node, "role"), repr(cut_middle(name or hint, longest))]
    if name and attribute == "placeholder" and hint not in name:
        words.append(f"placeholder: {cut_middle(hint, MAX_PROPERTY)}")
    for entry in node.get("properties", []):
        if entry["name"] not in HIDDEN_PROPERTIES and "value" in entry["value"]:
            words.append(f"{entry['name']}: {cut_middle(str(entry['value']['value']), MAX_PROPERTY)}")
    return " ".join(words)


def _superfluous(by_id: dict[str, AXNode], select: AXNode) -> set[int]:
    """Of a menu that opens all options but the first, in groups or not, and the chosen one wherever it stands."""
    popups = [by_id[child] for child in select.get("childIds", []) if child in by_id]
    waiting = [node for node in popups if _text(node, "role") == "MenuListPopup"]
    options = []
    while waiting:
        node = waiting.pop()
        if _text(node, "role") == "option":
            options.append(node)
        else:
            waiting += [by_id[child] for child in reversed(node.get("childIds", [])) if child in by_id]
    return {option["backendDOMNodeId"] for option in options[MAX_OPTIONS:] if not _is_selected(option)}


def with_more_options(select: AXNode, number: int) -> AXNode:
    """The node of a `<select>` that says how many options are not listed below it."""
    more = {"name": "more options", "value": {"value": number}}
    return {**select, "properties": [*select.get("properties", []), more]}


def _is_selected(option: AXNode) -> bool:
    return any(entry["name"] == "selected" and entry["value"].get("value") for entry in option.get("properties", []))


def _text(node: AXNode, field: str) -> str:
    return str(node.get(field, {}).get("value", ""))

"""The accessibility tree's text keeps OpenWebVoyager's format."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

from environments.browser.observation.frame_views import FrameView
from environments.browser.observation.layout import Region
from environments.browser.observation.tree import MAX_LINES, MAX_OPTIONS, Document, build_tree

VIEW = FrameView.of_window(1024, 768)


def node(number: int, role: str, name: str, *children: int, **properties: Any) -> dict[str, Any]:
    return {
        "nodeId": str(number),
        "backendDOMNodeId": number,
        "role": {"value": role},
        "name": {"value": name},
        "properties": [{"name": key, "value": {"value": value}} for key, value in properties.items()],
        "childIds": [str(child) for child in children],
    }


def region(boxes: dict[int, Any], controls: set[int] | None = None) -> Region:
    return Region(VIEW, boxes, controls or set())


def text(
    nodes: list[dict[str, Any]], boxes: dict[int, Any] | None = None, visibility: Any = "released", **more: Any
) -> str:
    places = {entry["backendDOMNodeId"]: (0, 0, 100, 20) for entry in nodes} | (boxes or {})
    return build_tree(Document(nodes, region(places, more.get("controls", set()))), visibility)[0]


def test_stored_trees_are_rebuilt_line_by_line(field_files: Path) -> None:
    """Each printed node of a trajectory, rebuilt from its raw node, reads as it did then."""
    trees = sorted((field_files / "trajectories").glob("*/accessibility_tree*.txt"))
    assert len(trees) >= 4
    for tree_file in trees:
        nodes = json.loads(tree_file.with_suffix(".json").read_text())
        lines = tree_file.read_text().splitlines()
        assert len(lines) == len(nodes)
        for label, line in enumerate(lines, start=1):
            raw = {**nodes[str(label)], "childIds": []}
            document = Document([raw], region({raw["backendDOMNodeId"]: raw["union_bound"]}))
            tree, _ = build_tree(document, "released")
            assert tree == re.sub(rf"^\t*\[{label}\]", "[1]", line)


def test_children_of_left_out_nodes_take_their_place() -> None:
    nodes = [
        node(1, "RootWebArea", "Shop", 2, 6, focused=True, focusable=True, url="http://x"),
        node(2, "generic", "", 3, 4),
        node(3, "link", "Red lamp", 5, url="http://x/lamp"),
        node(4, "gridcell", "cell", 7),
        node(5, "StaticText", "Red"),
        node(6, "button", "Buy", 8),
        node(7, "StaticText", "in cell"),
        node(8, "StaticText", "now"),
    ]
    assert text(nodes) == (
        "[1] RootWebArea 'Shop' focused: True\n\t[2] link 'Red lamp'\n\t[3] StaticText 'in cell'\n"
        "\t[4] button 'Buy'\n\t\t[5] StaticText 'now'"
    )


@pytest.mark.parametrize(
    ("box", "released", "correct"),
    [
        ((0, 700, 100, 20), True, True),
        ((0, 760, 100, 20), True, False),  # 40 % visible: the slip keeps it
        ((0, 769, 100, 20), False, False),
        ((0, 10, 100, 0.7), False, True),  # thin, wholly visible: the slip loses it
        ((0, 10, 0, 20), False, False),
        ((-200, 10, 100, 20), False, False),
    ],
)
def test_visibility_has_the_released_slip_or_not(box: Any, released: bool, correct: bool) -> None:
    nodes = [node(1, "RootWebArea", "Shop", 2), node(2, "link", "Lamp")]
    assert ("Lamp" in text(nodes, {2: box}, "released")) == released
    assert ("Lamp" in text(nodes, {2: box}, "correct")) == correct


def test_a_control_without_a_name_has_a_line_in_the_complete_tree() -> None:
    nodes = [
        node(1, "RootWebArea", "Shop", 2, 3, 4),
        node(2, "StaticText", "Your name:"),
        node(3, "textbox", "", 5, required=False),
        node(4, "generic", ""),
        node(5, "StaticText", "Ada"),
    ]
    assert "textbox" not in text(nodes)
    assert text(nodes, visibility="complete").splitlines() == [
        "[1] RootWebArea 'Shop'",
        "\t[2] StaticText 'Your name:'",
        "\t[3] textbox '' required: False",
        "\t\t[4] StaticText 'Ada'",
    ]


def test_a_control_without_a_name_is_called_by_what_an_attribute_says() -> None:
    names = {2: "", 3: "Town", 4: "m", 5: "Street"}
    nodes = [node(1, "RootWebArea", "Shop", *names), *(node(number, "combobox", names[number]) for number in names)]
    hints = {2: ("name", "payee"), 3: ("name", "town"), 4: ("placeholder", "Remark"), 5: ("placeholder", "Street")}
    hinted = dataclasses.replace(region(dict.fromkeys(range(1, 6), (0, 0, 100, 20)), set(names)), hints=hints)
    released = build_tree(Document(nodes, hinted), "released")[0]
    assert "payee" not in released and "Remark" not in released
    assert build_tree(Document(nodes, hinted), "complete")[0].splitlines()[1:] == [
        "\t[2] combobox 'payee'",
        "\t[3] combobox 'Town'",
        "\t[4] combobox 'm' placeholder: Remark",
        "\t[5] combobox 'Street'",
    ]


def test_parts_of_a_control_take_its_box() -> None:
    nodes = [
        node(1, "RootWebArea", "Shop", 2, 4),
        node(2, "textbox", "Search", 3),
        node(3, "StaticText", "old words"),
        node(4, "StaticText", "hidden"),
    ]
    boxes = {1: (0, 0, 9, 9), 2: (5, 5, 50, 20)}
    tree, labeled = build_tree(Document(nodes, region(boxes, {2})), "released")
    assert "old words" in tree and "hidden" not in tree
    assert labeled[3]["union_bound"] == [5, 5, 50, 20]


def test_long_menus_and_long_pages_are_cut() -> None:
    options = [node(10 + i, "option", f"town {i}", selected=i == 90) for i in range(100)]
    menu = [node(1, "RootWebArea", "Shop", 2), node(2, "combobox", "Town", 3)]
    popup = node(3, "MenuListPopup", "", *range(10, 110))
    tree = text([*menu, popup, *options], controls={2})
    assert tree.count("option 'town") == MAX_OPTIONS + 1
    assert "option 'town 90' selected: True" in tree and f"more options: {100 - MAX_OPTIONS - 1}" in tree
    links = [node(2 + i, "link", f"link {i}") for i in range(400)]
    tree = text([node(1, "RootWebArea", "Shop", *range(2, 402)), *links])
    assert len(tree.splitlines()) == MAX_LINES + 1  # as the released code counts

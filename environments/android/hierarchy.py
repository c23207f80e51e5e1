"""uiautomator's XML: what is on a device's screen, read as elements and written from them."""

import re
from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree

from environments.faults import DeviceError
from environments.touch.screen import Element

_KINDS = {
    "Button": "button",
    "ImageButton": "button",
    "Switch": "switch",
    "ToggleButton": "switch",
    "CheckBox": "checkbox",
    "RadioButton": "radio",
    "EditText": "textbox",
    "ImageView": "img",
    "TextView": "text",
    "WebView": "RootWebArea",
    "ActionBar$Tab": "tab",
    "RecyclerView": "list",
    "ListView": "list",
    "ScrollView": "list",
    "ViewGroup": "group",
}
_CLASSES = {kind: name for name, kind in reversed(_KINDS.items())} | {"link": "TextView", "searchbox": "EditText"}
_BOUNDS = re.compile(r"\[(-?\d+),(-?\d+)\]\[(-?\d+),(-?\d+)\]")


def read_hierarchy(xml: str) -> list[Element]:
    """What can be read or touched, in the order of reading.

    Raises:
        DeviceError: it is no XML of uiautomator's.
    """
    try:
        root = ElementTree.fromstring(xml[xml.index("<") : xml.rindex(">") + 1])  # devices say more behind it
    except (ValueError, ElementTree.ParseError) as error:
        raise DeviceError(f"the hierarchy of the screen cannot be read: {error}") from None
    found = (_element(node.attrib) for node in root.iter("node"))
    return [element for element in found if element is not None]


def _element(node: dict[str, str]) -> Element | None:
    """None for what only holds others, and for what lies outside of the screen."""
    place = _BOUNDS.fullmatch(node.get("bounds", ""))
    left, top, right, bottom = map(int, place.groups()) if place else (0, 0, 0, 0)
    text, name = node.get("text", ""), node.get("content-desc", "")
    usable = [node.get(way) == "true" for way in ("clickable", "scrollable", "checkable")]
    if left >= right or top >= bottom or not (text or name or any(usable)):
        return None
    kind = _KINDS.get(node.get("class", "").rpartition(".")[2], "group")
    kind = "link" if kind == "text" and usable[0] else kind
    is_field = kind == "textbox"  # whose text is what was written into it
    return Element(
        kind=kind,
        text=text if is_field else text or name,
        box=(left, top, right, bottom),
        name=name if is_field or (text and name != text) else "",
        is_clickable=usable[0],
        is_editable=is_field,
        is_focused=node.get("focused") == "true",
        is_scrollable=usable[1],
        is_checked=node.get("checked") == "true" if usable[2] else None,
    )


def write_hierarchy(elements: Iterable[Element], size: tuple[int, int], package: str) -> str:
    """As `uiautomator dump` writes it: all elements below one that is as large as the screen."""
    root = ElementTree.Element("hierarchy", rotation="0")
    frame = ElementTree.SubElement(root, "node", _attributes(Element("group", "", (0, 0, *size)), package))
    for element in elements:
        ElementTree.SubElement(frame, "node", _attributes(element, package))
    return "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>" + ElementTree.tostring(root, encoding="unicode")


def _attributes(element: Element, package: str) -> dict[str, str]:
    values: dict[str, Any] = {
        "text": _legal(element.text),
        "class": f"android.widget.{_CLASSES.get(element.kind, 'ViewGroup')}",
        "package": package,
        "content-desc": _legal(element.name),
        "checkable": element.is_checked is not None,
        "checked": element.is_checked is True,
        "clickable": element.is_clickable,
        "enabled": True,
        "focused": element.is_focused,
        "scrollable": element.is_scrollable,
        "bounds": "[{},{}][{},{}]".format(*element.box),
    }
    return {name: value if isinstance(value, str) else str(value).lower() for name, value in values.items()}


def _legal(text: str) -> str:
    """Without what XML cannot hold."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", text)

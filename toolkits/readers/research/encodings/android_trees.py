"""Accessibility forests of Android (android_env/proto/a11y of google-deepmind/android_env) as numbered elements.

AndroidAccessibilityForest      windows = 1
AndroidAccessibilityWindowInfo  tree = 11
AndroidAccessibilityTree        nodes = 1
AndroidAccessibilityNodeInfo    bounds_in_screen = 2, class_name = 3, content_description = 4, hint_text = 5,
                                text = 7, is_clickable = 14, is_editable = 15, is_visible_to_user = 23, depth = 27
ProtoRect                       left = 1, top = 2, right = 3, bottom = 4
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from common.errors import UserError
from toolkits.readers.research.encodings.tfrecord import bytes_of, fields

_ROLES = {
    "EditText": "textbox",
    "Button": "button",
    "ImageButton": "button",
    "ImageView": "img",
    "CheckBox": "checkbox",
}
_MOST, _LONGEST = 2000, 80  # elements of a screen, characters of a name
Message = Mapping[int, int | bytes]


@dataclasses.dataclass(frozen=True)
class AndroidPage:
    """What people can see and name or touch."""

    tree: str = ""
    boxes: Mapping[int, Sequence[float]] = dataclasses.field(default_factory=dict)


def page_of(where: str, forest: Any) -> AndroidPage:
    """Element k of them has the number k + 2, the screen 1; `UserError` where it is no forest."""
    lines, boxes = ["[1] RootWebArea 'android'"], {}
    try:
        nodes = [node for window in _all(forest, 1) for tree in _all(window, 11) for node in _all(tree, 1)]
        for node in nodes[:_MOST]:
            found = dict(fields(node))
            name = next((text for key in (7, 4, 5) if (text := _text(found, key).strip())), "")
            sides = dict(fields(bytes_of(found.get(2, b""))))
            left, top, right, bottom = (_signed(_number(sides, side)) for side in (1, 2, 3, 4))
            is_shown = found.get(23, 0) and right > left and bottom > top
            if is_shown and (name or found.get(14) or found.get(15)):
                label = len(boxes) + 2
                boxes[label] = [left, top, right - left, bottom - top]
                depth = 1 + min(_number(found, 27), 20)
                words = " ".join(name.split())[:_LONGEST]
                lines.append("\t" * depth + f"[{label}] {_role(_text(found, 3))} {words!r}")
    except (ValueError, IndexError, TypeError, AttributeError):
        raise UserError(f"{where}: an accessibility tree is none") from None
    return AndroidPage("\n".join(lines), boxes) if boxes else AndroidPage()


def _all(message: bytes, wanted: int) -> list[bytes]:
    return [content for number, content in fields(message) if number == wanted and isinstance(content, bytes)]


def _text(message: Message, key: int) -> str:
    return bytes_of(message.get(key, b"")).decode(errors="replace")


def _number(message: Message, key: int) -> int:
    value = message.get(key, 0)
    if isinstance(value, bytes):
        raise ValueError("no number")
    return value


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number


def _role(class_name: str) -> str:
    last = class_name.rpartition(".")[2]
    return _ROLES.get(last, "text" if last == "TextView" else last.lower() if re.fullmatch(r"\w+", last) else "generic")

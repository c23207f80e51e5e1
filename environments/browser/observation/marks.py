"""Set-of-marks: numbered boxes on the screenshot and a list of what they hold, as WebVoyager's agents see a page.

The numbers begin at 0. They are drawn onto the image, never into the page, which thus cannot see or move them.
"""

import base64
import io
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from environments.browser.observation.frame_views import FrameView
from environments.browser.observation.number_places import NumberPlaces
from environments.browser.observation.projection import Box
from environments.browser.observation.tree import AXNode

MAX_TEXT = 200  # longer ones are containers, and left out of the list
MIN_SIDE = 2.5  # pixels of a frame's box as it is drawn: of less Chromium's rounding decides what a press reaches
EDITOR = "editor"  # what the type of an element is called that is edited and is no field
TEXT_TYPES = {"text", "search", "password", "email", "tel"}
BLACK = (0, 0, 0)
_DASH, _GAP, _WIDTH = 6, 4, 2
_FONT_SIZE, _PADDING_X, _PADDING_Y = 12, 4, 2
_HEIGHT = _FONT_SIZE + 2 * _PADDING_Y + 2


@dataclass(frozen=True)
class Found:
    """What `marks.js` found in a frame, and how that frame is drawn."""

    view: FrameView
    marks: list[dict[str, Any]]


def number(
    found: Sequence[Found], covered: Mapping[tuple[str, int], Box | None] = MappingProxyType({})
) -> tuple[str, dict[int, AXNode]]:
    """The list of marks as WebVoyager writes it, and the nodes by number, each with its `boxes` in the viewport.
    Of those `covered`, by frame and place in its marks, it is what is free; those that have nothing are left out."""
    nodes: dict[int, AXNode] = {}
    lines = []
    for part in found:
        for index, mark in enumerate(part.marks):
            boxes = [moved for box in mark["boxes"] if (moved := _move(box, part.view))]
            if (key := (part.view.frame.id, index)) in covered:
                boxes = [[x, y, x + width, y + height] for x, y, width, height in filter(None, [covered[key]])]
            if not boxes:
                continue
            label = len(nodes)
            left, top, right, bottom = boxes[0]
            nodes[label] = {
                "mark": index,
                "role": {"value": mark["tag"]},
                "name": {"value": mark["label"] or mark["text"]},
                "row": mark.get("row", ""),
                "union_bound": [left, top, right - left, bottom - top],
                "boxes": boxes,
                **({"frameId": part.view.frame.id} if part.view.owner else {}),
            }
            if line := _describe(label, mark):
                lines.append(line)
    return "\t".join(lines), nodes


def draw(screenshot_base64: str, nodes: dict[int, AXNode], viewport_width: int, fixed_color: bool = False) -> str:
    """The screenshot with a dashed box and a number for each mark, as base64 PNG.

    Args:
        viewport_width: CSS pixels the image is wide.
        fixed_color: black boxes only; else each number has a colour of its own, the same every time.
    """
    image = Image.open(io.BytesIO(base64.b64decode(screenshot_base64))).convert("RGB")
    canvas, font = ImageDraw.Draw(image), ImageFont.load_default(_FONT_SIZE)
    scale = image.width / viewport_width
    boxes = [
        (label, (left * scale, top * scale, right * scale, bottom * scale))
        for label, node in nodes.items()
        for left, top, right, bottom in node["boxes"]
    ]
    places = NumberPlaces(image, [box for _, box in boxes])
    colors = {label: BLACK if fixed_color else _color(label) for label in nodes}
    for label, box in boxes:
        _dash(canvas, *box, colors[label])
    for label, box in boxes:
        width = canvas.textlength(str(label), font=font) + 2 * _PADDING_X
        _write(canvas, font, str(label), *places.take(box, width, _HEIGHT), width, colors[label])
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return base64.b64encode(buffer.getvalue()).decode()


def _describe(label: int, mark: dict[str, Any]) -> str:
    """`[3]: <input> "words", "label";`, or "" for what WebVoyager leaves out."""
    tag, text, name = mark["tag"], mark["text"], mark["label"]
    if mark["type"] == EDITOR:
        return f'[{label}]: <{tag} contenteditable> "{text if len(text) < MAX_TEXT else name}";'
    if not text:
        is_textbox = tag == "textarea" or (tag == "input" and mark["type"] in TEXT_TYPES)
        if is_textbox or (tag == "button" and mark["type"] in ("submit", "button")):
            return f'[{label}]: <{tag}> "{name}";'
        return ""
    if len(text) >= MAX_TEXT or ("<img" in text and "src=" in text):
        return ""
    words = f'"{text}", "{name}"' if name and name != text else f'"{text}"'
    return f"[{label}]: <{tag}> {words};" if tag in ("button", "input", "textarea") else f"[{label}]: {words};"


def _move(box: Sequence[float], view: FrameView) -> list[float] | None:
    """A box of a frame, in its CSS pixels, in the viewport, as far as it is shown there."""
    left, top, right, bottom = (value * view.zoom for value in box)
    own = left, top, right - left, bottom - top
    left, top, width, height = view.pressable(own)
    if view.owner and view.thickness(own) < MIN_SIDE:
        return None
    return [left, top, left + width, top + height] if width and height else None


def _color(label: int) -> tuple[int, int, int]:
    """Dark enough for the white number on it."""
    generator = random.Random(label)
    return generator.randrange(200), generator.randrange(160), generator.randrange(200)


def _dash(
    canvas: ImageDraw.ImageDraw, left: float, top: float, right: float, bottom: float, color: tuple[int, int, int]
) -> None:
    for start in range(round(left), round(right), _DASH + _GAP):
        end = min(start + _DASH, right)
        canvas.line([(start, top), (end, top)], color, _WIDTH)
        canvas.line([(start, bottom), (end, bottom)], color, _WIDTH)
    for start in range(round(top), round(bottom), _DASH + _GAP):
        end = min(start + _DASH, bottom)
        canvas.line([(left, start), (left, end)], color, _WIDTH)
        canvas.line([(right, start), (right, end)], color, _WIDTH)


def _write(
    canvas: ImageDraw.ImageDraw,
    font: Any,
    text: str,
    left: float,
    top: float,
    width: float,
    color: tuple[int, int, int],
) -> None:
    canvas.rounded_rectangle([left, top, left + width, top + _HEIGHT], 2, color)
    canvas.text((left + _PADDING_X, top + _PADDING_Y), text, "white", font)

"""Screen: what a screenshot shows of a page, and where a point that a model names lies on the page.

px_css = number / scale * viewport, then at most the last pixel. Only the screenshot's own size counts, never what it
should have been: at two device pixels a CSS pixel it is twice the viewport.
"""

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from common.errors import UserError
from data.actions.action import ActionError

Size = tuple[int, int]  # width, height
OPENING = "Tabs of the browser:\n"
"""How every `screen_text` begins, and no accessibility tree."""

_FACTOR, _LEAST_PIXELS, _MOST_PIXELS = 28, 100 * 28 * 28, 16384 * 28 * 28  # of UI-TARS 1.5


@dataclass(frozen=True)
class Screen:
    """`viewport` in CSS pixels, `screenshot` in the image's own."""

    viewport: Size
    screenshot: Size

    @property
    def center(self) -> "Point":
        return Point(self.viewport[0] / 2, self.viewport[1] / 2)


@dataclass(frozen=True)
class Point:
    """In CSS pixels of the viewport; `model` are the numbers that a model said, where one said it."""

    x: float
    y: float
    model: tuple[float, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Scale:
    """What a model's numbers count: `size` is that of the whole screen in its units."""

    name: str
    size: Callable[[Screen], Size]

    def point(self, screen: Screen, numbers: Any) -> Point:
        """Where on the page two numbers point; of four, a box, its center.

        Raises:
            ActionError: they are no numbers, or lie outside of the screen.
        """
        size = self.size(screen)
        if not isinstance(numbers, list | tuple) or len(numbers) not in (2, 4) or not all(map(_is_number, numbers)):
            raise ActionError(f"{repr(numbers)[:100]} is no point; a point is two numbers, [x, y].")
        x, y = numbers if len(numbers) == 2 else ((numbers[0] + numbers[2]) / 2, (numbers[1] + numbers[3]) / 2)
        if not (0 <= x <= size[0] and 0 <= y <= size[1]):
            raise ActionError(f"[{x:g}, {y:g}] is outside of the screen, which ends at [{size[0]}, {size[1]}].")
        (width, height), (across, down) = screen.viewport, size
        return Point(min(x / across * width, width - 1), min(y / down * height, height - 1), (x, y))

    def numbers(self, screen: Screen, point: Point) -> list[int]:
        """What a model is to say for a point of the page."""
        sizes = zip((point.x, point.y), self.size(screen), screen.viewport, strict=True)
        return [max(0, min(round(at * units / pixels), units - 1)) for at, units, pixels in sizes]

    def label(self, screen: Screen) -> str:
        """Its name, with its size where that depends on the screenshot."""
        return self.name if self in (REL1, REL1000) else "{}({},{})".format(self.name, *self.size(screen))


def resized(width: int, height: int) -> Size:
    """The size in which Qwen2-VL's image processor shows an image to UI-TARS 1.5: multiples of 28 pixels."""
    across, down = (max(_FACTOR, round(side / _FACTOR) * _FACTOR) for side in (width, height))
    if across * down > _MOST_PIXELS:
        ratio = math.sqrt(width * height / _MOST_PIXELS)
        across, down = (max(_FACTOR, math.floor(side / ratio / _FACTOR) * _FACTOR) for side in (width, height))
    elif across * down < _LEAST_PIXELS:
        ratio = math.sqrt(_LEAST_PIXELS / (width * height))
        across, down = (math.ceil(side * ratio / _FACTOR) * _FACTOR for side in (width, height))
    return across, down


REL1000 = Scale("rel1000", lambda screen: (1000, 1000))
REL1 = Scale("rel1", lambda screen: (1, 1))
PX = Scale("px", lambda screen: screen.screenshot)
PX_RESIZED = Scale("px_resized", lambda screen: resized(*screen.screenshot))


def box_on_screen(box: Sequence[float], viewport: Size) -> tuple[float, float, float, float] | None:
    """(left, top, width, height) of the part of such a box that the screen shows; None: it shows nothing of it."""
    left, top, width, height = box
    right, bottom = min(left + width, viewport[0]), min(top + height, viewport[1])
    left, top = max(left, 0), max(top, 0)
    return (left, top, right - left, bottom - top) if right > left and bottom > top else None


def center_of_box(box: Sequence[float]) -> Point:
    """The middle of (left, top, width, height)."""
    left, top, width, height = box
    return Point(left + width / 2, top + height / 2)


def screen_text(tabs: Sequence[str]) -> str:
    """What an agent reads beside the screenshot where it acts at points. Of sizes only its action space speaks."""
    return OPENING + "\n".join(tabs)


def png_size(head: bytes) -> Size:
    """Width and height of the PNG that begins with these 24 bytes; `UserError` where it is none."""
    if len(head) < 24 or not head.startswith(b"\x89PNG"):
        raise UserError("a screenshot is no PNG")
    width, height = struct.unpack(">II", head[16:24])
    return width, height


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e9  # not nan; larger whole numbers may be no float

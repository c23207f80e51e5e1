"""Where the number of a mark stands: above the left end of its box, as WebVoyager has it, unless that hides a text,
another mark or another number; then beside the box or at its right end, wherever it hides least."""

from collections.abc import Iterable, Iterator

from PIL import Image, ImageDraw, ImageFilter

Rectangle = tuple[float, float, float, float]
"""(left, top, right, bottom) in pixels of the image."""
RISE = 19  # how far above its box a number stands
_GAP = 1
_EDGE = 48  # of 255, beyond which a change of shade from pixel to pixel is something that is shown
_FREE = 0.03  # the part of a place that may be hidden as if it were none


class NumberPlaces:
    """Of one image. Numbers that were placed are not hidden by others."""

    def __init__(self, image: Image.Image, boxes: Iterable[Rectangle]):
        self._size = image.size
        self._shown = image.convert("L").filter(ImageFilter.FIND_EDGES).point([255 * (n > _EDGE) for n in range(256)])
        self._taken, self._marked = Image.new("L", image.size), Image.new("L", image.size)
        self._takes = ImageDraw.Draw(self._taken)
        marks = ImageDraw.Draw(self._marked)
        for box in boxes:
            marks.rectangle(box, 255)

    def take(self, box: Rectangle, width: float, height: float) -> tuple[float, float]:
        """The left upper corner of the number of this size for this box."""
        best, least = (0.0, 0.0), float("inf")
        for left, top, is_inside in self._tried(box, width, height):
            hidden = self._hidden((round(left), round(top), round(left + width), round(top + height)), is_inside)
            if hidden < least:
                best, least = (left, top), hidden
            if hidden <= _FREE:
                break
        self._takes.rectangle((*best, best[0] + width, best[1] + height), 255)
        return best

    def _tried(self, box: Rectangle, width: float, height: float) -> Iterator[tuple[float, float, bool]]:
        left, top, right, bottom = box
        middle, is_wide = (top + bottom - height) / 2, right - left > 3 * width and bottom - top > height
        yield left + min((right - left) // 5, 2), max(top - RISE, 0), False
        others = [
            *((x, middle, True) for x in (right - width - _GAP, left + _GAP) if is_wide),
            (right + _GAP, middle, False),
            (left - width - _GAP, middle, False),
            (right - width, top - RISE, False),
            (left, bottom + _GAP, False),
        ]
        for x, y, is_inside in others:
            if x >= 0 and y >= 0 and x + width <= self._size[0] and y + height <= self._size[1]:
                yield x, y, is_inside

    def _hidden(self, place: tuple[int, int, int, int], is_inside: bool) -> float:
        """How much of a place shows something, is marked or is taken, as parts of its area, together; a number that is
        hidden counts most. Inside a box the mark is its own."""
        layers = [(self._shown, 1), (self._taken, 10), *([] if is_inside else [(self._marked, 1)])]
        parts = [(weight, layer.crop(place).histogram()) for layer, weight in layers]
        return sum(weight * part[255] / sum(part) for weight, part in parts)

"""What the teacher sees in a screenshot: figures in strong colors on pages that are gray otherwise."""

import dataclasses
import functools
import io

from PIL import Image

SCALE = 4  # screen pixels to one that is looked at
_HUES = {"red": 0, "orange": 20, "yellow": 38, "green": 96, "blue": 158, "purple": 195}  # of 256
_LEAST_PIXELS = 20


@dataclasses.dataclass(frozen=True)
class Figure:
    """A connected area of one color; its place and size are in screen pixels, `filled` is its share of its box."""

    color: str
    left: int
    top: int
    width: int
    height: int
    filled: float

    @property
    def shape(self) -> str:
        return "square" if self.filled > 0.9 else "circle" if self.filled > 0.68 else "triangle"


@functools.lru_cache(maxsize=8)
def figures(png: bytes) -> tuple[Figure, ...]:
    """All figures, from above to below and from left to right."""
    with Image.open(io.BytesIO(png)) as image:
        small = image.convert("RGB").resize((image.width // SCALE, image.height // SCALE), Image.Resampling.NEAREST)
    width, raw = small.width, small.convert("HSV").tobytes()
    pixels = zip(raw[::3], raw[1::3], raw[2::3], strict=True)
    colors = {
        place: _name(hue) for place, (hue, strength, light) in enumerate(pixels) if strength > 150 and light > 120
    }
    found = []
    while colors:
        place, color = next(iter(colors.items()))
        area, edge = [], [place]
        del colors[place]
        while edge:
            area.append(place := edge.pop())
            near = [
                other for other in (place - 1, place + 1, place - width, place + width) if colors.get(other) == color
            ]
            for other in near:
                del colors[other]
            edge += near
        if len(area) >= _LEAST_PIXELS:
            found.append(_figure(color, area, width))
    return tuple(sorted(found, key=lambda figure: (round(figure.top / 120), figure.left)))


def _figure(color: str, area: list[int], width: int) -> Figure:
    rows, columns = [place // width for place in area], [place % width for place in area]
    left, top = min(columns), min(rows)
    across, down = max(columns) - left + 1, max(rows) - top + 1
    return Figure(color, left * SCALE, top * SCALE, across * SCALE, down * SCALE, len(area) / (across * down))


def _name(hue: int) -> str:
    return min(_HUES, key=lambda name: min(abs(hue - _HUES[name]), 256 - abs(hue - _HUES[name])))

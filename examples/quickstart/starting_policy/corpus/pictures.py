"""Pictures of the synthetic pages, some with figures on them that no line of the tree tells of.

A policy whose pre-training shows it random pictures learns to ignore them. Here every page is drawn, and on some the
only answer to a question is in the drawing.
"""

import dataclasses
import math
import random

from PIL import Image, ImageDraw

SIZE = (512, 384)  # half of a browser's window
COLORS = {
    "red": (214, 28, 28),
    "orange": (250, 128, 10),
    "yellow": (240, 212, 20),
    "green": (24, 160, 64),
    "blue": (30, 84, 220),
    "purple": (140, 40, 200),
    "pink": (246, 140, 190),
    "brown": (122, 72, 34),
    "black": (16, 16, 16),
}
SHAPES = ("circle", "square", "triangle", "star", "ring", "cross")
MOST = 9  # of a bar
MOST_FIGURES = 4  # each takes two of the eight image tokens
_JITTER = 14  # of each part of a color


@dataclasses.dataclass(frozen=True)
class Figure:
    """A shape in a color; as a bar of a chart it has a `height` from 1 to `MOST`."""

    color: str
    shape: str
    height: int = 0


@dataclasses.dataclass(frozen=True)
class Drawing:
    """What is to be seen beside the text. `kind`: `figures` (one or more), `bars`, or a `light` that is on or off."""

    kind: str
    figures: tuple[Figure, ...] = ()
    lit: bool = False

    def words(self) -> list[str]:
        """What is to be seen, as words: color and shape of each figure, color and height of each bar, `on` or `off`."""
        if self.kind == "light":
            return ["on" if self.lit else "off"]
        return [word for figure in self.figures for word in (figure.color, str(figure.height or figure.shape))]


def make_drawing(rng: random.Random, kind: str, num_figures: int = 1) -> Drawing:
    """Random figures, no two of them alike; bars have different colors."""
    if kind == "light":
        return Drawing(kind, lit=rng.random() < 0.5)
    if kind == "bars":
        colors = rng.sample(list(COLORS), rng.randint(2, MOST_FIGURES))
        return Drawing(kind, tuple(Figure(color, "bar", rng.randint(1, MOST)) for color in colors))
    pairs = [(color, shape) for color in COLORS for shape in SHAPES]
    return Drawing(kind, tuple(Figure(*pair) for pair in rng.sample(pairs, num_figures)))


def render(rng: random.Random, lines: list[tuple[str, str]], drawing: Drawing | None) -> Image.Image:
    """The page as a picture: its (role, text) lines in columns, the drawing in a free part of it."""
    paper = rng.randrange(225, 256)
    image = Image.new("RGB", SIZE, (paper, paper, rng.randrange(paper - 6, 256)))
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, SIZE[0], rng.randint(16, 40)), fill=(rng.randrange(30, 230),) * 3)
    left, top, right, bottom = area = _free_area(rng, drawing)
    x, y = 12, 44
    for role, text in lines:
        while drawing and left - 90 < x < right and top - 12 < y < bottom:
            y += 14
        if y > SIZE[1] - 14:
            x, y = x + rng.randint(110, 170), 44
        if x > SIZE[0] - 20:
            break
        y += _write(draw, x, y, role, text)
    if drawing:
        _draw(rng, draw, area, drawing)
    return image


def _write(draw: ImageDraw.ImageDraw, x: int, y: int, role: str, text: str) -> int:
    """One line of the tree; returns its height."""
    width = min(150, 10 + 5 * len(text))
    if role in ("button", "tab", "textbox", "searchbox", "combobox"):
        draw.rectangle((x, y, x + width, y + 14), outline=(120, 120, 120), fill=(236, 236, 236))
    if role == "image":
        draw.rectangle((x, y, x + 60, y + 30), fill=(205, 205, 205))
        return 36
    gray = {"link": 70, "heading": 10}.get(role, 50)
    draw.text((x + 3, y + 1), text[:28], fill=(gray, gray, gray + 40 if role == "link" else gray))
    return 20 if role == "heading" else 16


def _free_area(rng: random.Random, drawing: Drawing | None) -> tuple[int, int, int, int]:
    """(left, top, right, bottom) of the drawing."""
    many = drawing is not None and drawing.kind == "figures" and len(drawing.figures) > 1
    width, height = (rng.randint(300, 470), rng.randint(180, 300)) if many else (rng.randint(100, 260), 0)
    height = height or round(width * rng.uniform(0.7, 0.95))
    left, top = rng.randint(10, SIZE[0] - width - 10), rng.randint(50, SIZE[1] - height - 5)
    return left, top, left + width, top + height


def _draw(rng: random.Random, draw: ImageDraw.ImageDraw, area: tuple[int, int, int, int], drawing: Drawing) -> None:
    left, top, right, bottom = area
    if drawing.kind == "bars" or rng.random() < 0.5:  # a bar is high by its frame
        draw.rectangle(area, fill=(255, 255, 255), outline=(210, 210, 210))
    if drawing.kind == "light":
        color = _near(rng, "yellow") if drawing.lit else (rng.randrange(90, 140),) * 3
        _shape(draw, "circle", (left + right) / 2, (top + bottom) / 2, 0.32 * min(right - left, bottom - top), color)
        return
    if drawing.kind == "bars":
        step = (right - left) / len(drawing.figures)
        for place, bar in enumerate(drawing.figures):
            x, height = left + step * (place + 0.15), (bottom - top) * bar.height / (MOST + 1)
            draw.rectangle((x, bottom - height, x + 0.7 * step, bottom), fill=_near(rng, bar.color))
        return
    columns = min(3, len(drawing.figures))
    rows = math.ceil(len(drawing.figures) / columns)
    across, down = (right - left) / columns, (bottom - top) / rows
    for place, figure in enumerate(drawing.figures):
        x, y = left + across * (place % columns + 0.5), top + down * (place // columns + 0.45)
        _shape(draw, figure.shape, x, y, rng.uniform(0.3, 0.4) * min(across, down), _near(rng, figure.color))


def _near(rng: random.Random, color: str) -> tuple[int, ...]:
    return tuple(min(255, max(0, part + rng.randint(-_JITTER, _JITTER))) for part in COLORS[color])


def _shape(draw: ImageDraw.ImageDraw, shape: str, x: float, y: float, size: float, color: tuple[int, ...]) -> None:
    """A shape around (x, y) that reaches `size` pixels from there."""
    box = (x - size, y - size, x + size, y + size)
    if shape == "circle":
        draw.ellipse(box, fill=color)
    elif shape == "ring":
        draw.ellipse(box, outline=color, width=max(2, round(size / 3)))
    elif shape == "square":
        draw.rectangle(box, fill=color)
    elif shape == "triangle":
        draw.polygon([(x, y - size), (x + size, y + size), (x - size, y + size)], fill=color)
    elif shape == "star":
        radii = [size if corner % 2 == 0 else 0.4 * size for corner in range(10)]
        turns = [math.pi * (corner / 5 - 0.5) for corner in range(10)]
        draw.polygon(
            [(x + r * math.cos(t), y + r * math.sin(t)) for r, t in zip(radii, turns, strict=True)], fill=color
        )
    else:
        draw.rectangle((x - size, y - size / 3, x + size, y + size / 3), fill=color)
        draw.rectangle((x - size / 3, y - size, x + size / 3, y + size), fill=color)

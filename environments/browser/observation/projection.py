"""How a frame's own pixels are drawn in the window: moved, scaled, turned, skewed, in perspective."""

from collections.abc import Sequence
from dataclasses import dataclass

Box = tuple[float, float, float, float]  # x, y, width, height
Point = tuple[float, float]

_FLAT = 1e-6  # pixels by which a parallelogram's corners may miss


@dataclass(frozen=True)
class Projection:
    """A 3 x 3 matrix, row by row, that takes (x, y, 1) to a multiple of where it is drawn."""

    matrix: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)

    @classmethod
    def of(cls, width: float, height: float, quad: Sequence[float]) -> "Projection":
        """The one that draws a rectangle of that size at the origin onto a quadrangle: x and y of its four corners from
        the upper left one on, clockwise (Heckbert, Fundamentals of Texture Mapping, 1989, section 2.2.3)."""
        x0, y0, x1, y1, x2, y2, x3, y3 = quad
        across, down, g, h = x0 - x1 + x2 - x3, y0 - y1 + y2 - y3, 0.0, 0.0
        if abs(across) > _FLAT or abs(down) > _FLAT:
            area = (x1 - x2) * (y3 - y2) - (x3 - x2) * (y1 - y2)
            if area:
                g = (across * (y3 - y2) - (x3 - x2) * down) / area
                h = ((x1 - x2) * down - across * (y1 - y2)) / area
        a, b, d, e = x1 - x0 + g * x1, x3 - x0 + h * x3, y1 - y0 + g * y1, y3 - y0 + h * y3
        return cls((a / width, b / height, x0, d / width, e / height, y0, g / width, h / height, 1.0))

    def after(self, first: "Projection") -> "Projection":
        """This one of what `first` drew."""
        rows, columns = (self.matrix[0:3], self.matrix[3:6], self.matrix[6:9]), range(3)
        return Projection(
            tuple(sum(row[k] * first.matrix[3 * k + column] for k in range(3)) for row in rows for column in columns)
        )

    def inverse(self) -> "Projection | None":
        """The way back; None of a frame that is drawn as a line."""
        a, b, c, d, e, f, g, h, i = self.matrix
        if not a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g):
            return None  # a multiple of the matrix draws the same, so nothing is divided
        return Projection(
            (
                *(e * i - f * h, c * h - b * i, b * f - c * e),
                *(f * g - d * i, a * i - c * g, c * d - a * f),
                *(d * h - e * g, b * g - a * h, a * e - b * d),
            )
        )

    def point(self, x: float, y: float) -> Point:
        """Where a point is drawn."""
        a, b, c, d, e, f, g, h, i = self.matrix
        scale = g * x + h * y + i or 1e-12
        return (a * x + b * y + c) / scale, (d * x + e * y + f) / scale

    @property
    def is_in_perspective(self) -> bool:
        """Whether parallel lines are drawn as others."""
        return max(abs(self.matrix[6]), abs(self.matrix[7])) > 1e-9

    def corners(self, box: Box) -> list[Point]:
        """Where the corners of a box are drawn, the upper left one first, clockwise."""
        left, top, width, height = box
        corners = ((left, top), (left + width, top), (left + width, top + height), (left, top + height))
        return [self.point(*corner) for corner in corners]

    def box(self, box: Box) -> Box:
        """What is drawn of a box: the upright box around that, as far as it is even around where the box's middle is
        drawn, which in perspective is not its own."""
        return even(bounds(self.corners(box)), self.point(*center(box)))


def bounds(points: Sequence[Point]) -> Box:
    """The smallest upright box around points."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)


def center(box: Box) -> Point:
    """Its middle."""
    return box[0] + box[2] / 2, box[1] + box[3] / 2


def contains(box: Box, at: Point) -> bool:
    """Whether a point lies in a box."""
    return box[0] <= at[0] <= box[0] + box[2] and box[1] <= at[1] <= box[1] + box[3]


def even(box: Box, middle: Point) -> Box:
    """The largest part of a box that has its middle there."""
    (x, y), (left, top, width, height) = middle, box
    across, down = min(x - left, left + width - x), min(y - top, top + height - y)
    return x - across, y - down, 2 * across, 2 * down


def holding(polygon: Sequence[Point]) -> Box:
    """The upright box around a convex polygon, made smaller towards its middle until its own middle lies inside."""
    xs, ys = zip(*polygon, strict=True)
    middle = sum(xs) / len(xs), sum(ys) / len(ys)
    for share in (1.0, 0.5, 0.25):
        box = bounds([_between(middle, point, share) for point in polygon])
        if _is_inside(polygon, center(box)):
            break
    return box


def _between(start: Point, end: Point, share: float) -> Point:
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])


def _is_inside(polygon: Sequence[Point], at: Point) -> bool:
    """Whether a point lies in a convex polygon, not on its edge."""
    sides = [
        (x1 - x0) * (at[1] - y0) - (y1 - y0) * (at[0] - x0)
        for (x0, y0), (x1, y1) in zip(polygon, [*polygon[1:], polygon[0]], strict=True)
        if (x0, y0) != (x1, y1)
    ]
    return all(side > _FLAT for side in sides) or all(side < -_FLAT for side in sides)


def around(boxes: Sequence[Box]) -> Box | None:
    """The smallest box around boxes; None around nothing."""
    corners = [point for x, y, width, height in boxes for point in ((x, y), (x + width, y + height))]
    return bounds(corners) if corners else None


def clip(polygon: Sequence[Point], box: Box) -> list[Point]:
    """What of a convex polygon lies in a box, by its corners, [] of none (Sutherland and Hodgman, 1974)."""
    left, top, width, height = box
    points = list(polygon)
    for axis, limit, sign in ((0, left, 1), (0, left + width, -1), (1, top, 1), (1, top + height, -1)):
        inside = [sign * (point[axis] - limit) for point in points]
        kept: list[Point] = []
        for index, (point, depth) in enumerate(zip(points, inside, strict=True)):
            before, depth_before = points[index - 1], inside[index - 1]
            if (depth > 0 > depth_before) or (depth < 0 < depth_before):
                share = depth_before / (depth_before - depth)
                kept.append(_between(before, point, share))
            if depth >= 0:
                kept.append(point)
        points = kept
    return points


def overlap(one: Box, other: Box) -> Box:
    """What two boxes share; width or height is 0 where they share nothing."""
    left, top = max(one[0], other[0]), max(one[1], other[1])
    right, bottom = min(one[0] + one[2], other[0] + other[2]), min(one[1] + one[3], other[1] + other[3])
    return left, top, max(0.0, right - left), max(0.0, bottom - top)

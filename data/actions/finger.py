"""How a finger scrolls: it drags what is shown, so it goes the other way."""

from data.actions.point_action import DragAt
from data.actions.screen import Point, Size


def scroll_by_finger(right: float, down: float, at: Point | None, viewport: Size) -> DragAt:
    """A swipe that shows what is so much further, on its way through a point, by default the center, as far as the
    screen goes."""
    width, height = viewport
    middle = at or Point(width / 2, height / 2)

    def inside(x: float, y: float) -> Point:
        return Point(min(max(x, 0), width - 1), min(max(y, 0), height - 1))

    return DragAt(inside(middle.x + right / 2, middle.y + down / 2), inside(middle.x - right / 2, middle.y - down / 2))

"""What came of an action, compared with what it was meant to do."""

import io
from collections.abc import Sequence
from urllib.parse import urlsplit

from PIL import Image, ImageChops

from data.action import Click, Drag, GoBack, Type
from data.point_action import AnyAction, ClickAt, DragAt, Press, Write
from environments.environment import Observation

_OPENED_HERE = ("http", "https", "javascript", "blob", "data", "about", "file", "")
MAX_CHARS = 100
MARGIN = 6.0  # of an outline, in CSS pixels
MOST_PIXELS = 100_000.0  # what is larger is no control


def where_it_leads(link: str) -> str:
    """A note on a link that leads to another program than the browser, or ""."""
    scheme = urlsplit(link).scheme.lower() if ":" in link else ""
    if scheme in _OPENED_HERE:
        return ""
    return f"The link leads out of the browser, to {link[:MAX_CHARS]}; no page opens."


def changes(action: AnyAction) -> bool:
    """Whether the action is meant to change what is seen, and says nothing of it by itself where it does not."""
    return isinstance(action, Click | Type | Drag | GoBack | ClickAt | DragAt | Write | Press)


def looks_the_same(before: Observation, after: Observation, mouse: Sequence[tuple[float, float]] = ()) -> bool:
    """Address, elements, tabs and every pixel, but for the focus and the look of what the mouse is and was on."""
    if any(getattr(before, kind) != getattr(after, kind) for kind in ("url", "tabs", "files")):
        return False
    if _without_focus(before.tree) != _without_focus(after.tree):
        return False
    if before.screenshot_base64 == after.screenshot_base64:
        return True
    one, other = (Image.open(io.BytesIO(seen.screenshot_png)).convert("RGB") for seen in (before, after))
    if one.size != other.size:
        return False
    difference = ImageChops.difference(one, other)
    for left, top, width, height in (box for at in mouse if (box := _under(before, at))):
        scale = one.width / (before.viewport or one.size)[0]
        edges = (left - MARGIN, top - MARGIN, left + width + MARGIN, top + height + MARGIN)
        difference.paste(0, tuple(round(edge * scale) for edge in edges))
    return difference.getbbox() is None


def _without_focus(tree: str) -> str:
    return tree.replace(" focused: True", "")


def _under(seen: Observation, at: tuple[float, float]) -> list[float] | None:
    """The smallest box of an element at a point, unless that is most of the page."""
    boxes = [node["union_bound"] for node in seen.nodes.values() if "union_bound" in node]
    holding = [box for box in boxes if box[0] <= at[0] <= box[0] + box[2] and box[1] <= at[1] <= box[1] + box[3]]
    smallest = min(holding, key=lambda box: box[2] * box[3], default=None)
    return smallest if smallest and smallest[2] * smallest[3] < MOST_PIXELS else None

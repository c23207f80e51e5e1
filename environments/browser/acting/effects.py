"""What came of an action, compared with what it was meant to do."""

from urllib.parse import urlsplit

from data.actions.action import Click, Drag, GoBack, Type
from data.actions.point_action import AnyAction, ClickAt, DragAt, Press, Write
from environments.environment import Observation

_OPENED_HERE = ("http", "https", "javascript", "blob", "data", "about", "file", "")
MAX_CHARS = 100


def where_it_leads(link: str) -> str:
    """A note on a link that leads to another program than the browser, or ""."""
    scheme = urlsplit(link).scheme.lower() if ":" in link else ""
    if scheme in _OPENED_HERE:
        return ""
    return f"The link leads out of the browser, to {link[:MAX_CHARS]}; no page opens."


def changes(action: AnyAction) -> bool:
    """Whether the action is meant to change what is seen, and says nothing of it by itself where it does not."""
    return isinstance(action, Click | Type | Drag | GoBack | ClickAt | DragAt | Write | Press)


def looks_the_same(before: Observation, after: Observation) -> bool:
    """Address, tabs, elements, but for which has the focus, and every pixel: a control may tell by its color alone."""
    kinds = ("url", "tabs", "files", "screenshot_base64")
    if any(getattr(before, kind) != getattr(after, kind) for kind in kinds):
        return False
    return _without_focus(before.tree) == _without_focus(after.tree)


def _without_focus(tree: str) -> str:
    return tree.replace(" focused: True", "")

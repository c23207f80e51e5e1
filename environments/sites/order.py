"""In which order the menus of an embedded site stand: a visitor's own, or what a run decides, so that it repeats."""

from typing import Any
from urllib.parse import urlsplit

from data.task import Task

ORDER_COOKIE = "elcano_order"


def order_cookie(task: Task, seed: int) -> dict[str, Any] | None:
    """The cookie to begin `task` with, as Playwright writes it; None where it does not begin at an embedded site."""
    host = urlsplit(task.web).hostname or ""
    if not host.endswith(".localhost"):
        return None
    return {"name": ORDER_COOKIE, "value": str(seed), "domain": host, "path": "/", "httpOnly": True}

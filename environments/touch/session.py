"""A phone in use: one for each browser context, which begins as its seed has it at `/start/<seed>`."""

import dataclasses
from collections.abc import Callable
from typing import Any

from starlette.responses import HTMLResponse, Response

from environments.sites.visits import Visit
from environments.touch.phone import Phone, build, changes

Show = Callable[[Visit, Phone], str | Response]


class Session:
    """`first` is the phone as it was handed over."""

    def __init__(self) -> None:
        self.start(0)

    def start(self, seed: int) -> None:
        """Begin with the phone of this seed."""
        self.seed, self.first = seed, build(seed)
        self.phone = self.first.copy()

    def state(self) -> dict[str, Any]:
        """What the ground truth looks at."""
        return {"seed": self.seed, "changes": changes(self.first, self.phone)}


def screen(show: Show) -> Callable[[Visit], Response]:
    """A handler that is given the phone. Its page is kept nowhere: going back shows what is true by then."""

    def handle(visit: Visit) -> Response:
        shown = show(visit, visit.state.phone)
        return shown if isinstance(shown, Response) else HTMLResponse(shown, headers={"Cache-Control": "no-store"})

    return handle


def screens(shows: dict[str, Show]) -> dict[str, Callable[[Visit], Response]]:
    """The handlers of an app by path."""
    return {path: screen(show) for path, show in shows.items()}


def replaced(kept: dict[str, Any], name: str, **fields: Any) -> None:
    """Change fields of what is kept by that name, where it is."""
    if name in kept:
        kept[name] = dataclasses.replace(kept[name], **fields)

"""A touch screen: what a phone's screen shows and takes, whether Chromium draws it or a device does.

`environments/touch/` shows one in Chromium. The daemon of `environments/android/` offers any of them over adb's
protocol.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Key = Literal["back", "home", "enter"]


@dataclass(frozen=True)
class Element:
    """One thing on the screen that can be read or touched. `box` is [left, top, right, bottom) in pixels.

    Args:
        kind: `button`, `link`, `switch`, `textbox`, `text`, `list`, ...: its ARIA role.
        text: what it says, its own name or, in a field, what is written there.
        name: what it is called where that is not what it says: the label of a field.
        is_checked: None: it is nothing that can be switched on.
    """

    kind: str
    text: str
    box: tuple[int, int, int, int]
    name: str = ""
    is_clickable: bool = False
    is_editable: bool = False
    is_focused: bool = False
    is_scrollable: bool = False
    is_checked: bool | None = None

    @property
    def center(self) -> tuple[float, float]:
        left, top, right, bottom = self.box
        return (left + right) / 2, (top + bottom) / 2


class TouchScreen(Protocol):
    """Points are pixels of the screenshot, from the left upper corner. Every method may raise what
    `environments/faults.py` holds."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        ...

    async def screenshot(self) -> bytes:
        """A PNG of `size`."""
        ...

    async def tap(self, x: float, y: float) -> None:
        """A finger goes down and up there."""
        ...

    async def swipe(self, x1: float, y1: float, x2: float, y2: float, ms: int = 300) -> None:
        """A finger goes down at the first point, moves to the second within that time, and goes up."""
        ...

    async def type(self, text: str) -> None:
        """Enter text where the cursor is; where there is none, nothing happens, as on a phone."""
        ...

    async def key(self, key: Key) -> None:
        """Press one of the system's keys."""
        ...

    async def tree(self) -> Sequence[Element]:
        """What is on the screen now, in the order of reading."""
        ...

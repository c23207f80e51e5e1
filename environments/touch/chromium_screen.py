"""The touch screen that Chromium shows: a page of the phone in a touch-emulating tab."""

import base64
from collections.abc import Sequence
from typing import Any

from data.actions.action import ActionError
from environments.browser.acting.history import go_back
from environments.browser.acting.keyboard import ENTER, press
from environments.browser.chromium.cdp import RefusedError
from environments.browser.observation.observe import SCREENSHOT, observe
from environments.browser.page.page import Page, Viewport
from environments.browser.page.settle import settle
from environments.faults import BrowserError
from environments.touch import gestures
from environments.touch.screen import Element, Key, TouchScreen

VIEWPORT = Viewport(412, 915, 1.0, touch=True)
_CLICKABLE = {"button", "link", "switch", "radio", "checkbox", "tab", "option", "menuitem"}
_EDITABLE = {"textbox", "searchbox"}
_HAS_CURSOR = "() => document.activeElement?.matches('input, textarea, [contenteditable]') ?? false"
_EMPTY = "() => document.activeElement.select?.()"


class ChromiumScreen(TouchScreen):
    """`home` is the address of the home screen. Every gesture returns when the page is at rest."""

    def __init__(self, page: Page, home: str):
        self.page, self.home = page, home

    @property
    def size(self) -> tuple[int, int]:
        return self.page.viewport.width, self.page.viewport.height

    async def screenshot(self) -> bytes:
        return base64.b64decode((await self.page.send(*SCREENSHOT))["data"])

    async def tap(self, x: float, y: float) -> None:
        self.page.touch()
        await gestures.tap(self.page, (x, y))
        await settle(self.page)

    async def swipe(self, x1: float, y1: float, x2: float, y2: float, ms: int = 300) -> None:
        self.page.touch()
        if (x1, y1) == (x2, y2):  # as adb has it
            await gestures.long_press(self.page, (x1, y1))
        else:
            await gestures.swipe(self.page, (x1, y1), (x2, y2), ms / 1000)
        await settle(self.page)

    async def type(self, text: str) -> None:
        if await self.has_cursor():
            await self.page.send("Input.insertText", {"text": text})
            await settle(self.page)

    async def has_cursor(self) -> bool:
        """Whether there is a field that text would go to."""
        try:
            return await self.page.run(_HAS_CURSOR)
        except RefusedError:  # the document is being replaced
            return False

    async def select_all(self) -> None:
        """What is typed next replaces what stands where the cursor is."""
        await self.page.run(_EMPTY)

    async def key(self, key: Key) -> None:
        if key == "enter":
            self.page.touch()
            await self.page.send_all(press(ENTER))
        elif key == "home":
            await self.open(self.home)
        elif not await self._is_home():
            try:
                await go_back(self.page)
            except ActionError:  # nothing lies before
                await self.open(self.home)
        await settle(self.page)

    async def open(self, address: str) -> None:
        """Show a screen of the phone, unless it is shown."""
        if await self.page.address() != address:
            self.page.touch()
            await self.page.goto(address)
            await settle(self.page)

    async def _is_home(self) -> bool:
        return await self.page.address() == self.home

    async def tree(self) -> Sequence[Element]:
        try:
            seen = await observe(self.page, "complete")
        except RefusedError as error:
            raise BrowserError(f"the screen cannot be read: {error}") from None
        return [_element(node, self.size) for node in seen.nodes.values()]


def _element(node: dict[str, Any], size: tuple[int, int]) -> Element:
    kind, name = (str(node.get(field, {}).get("value", "")) for field in ("role", "name"))
    told = {entry["name"]: entry["value"].get("value") for entry in node.get("properties", [])}
    left, top, width, height = (0, 0, *size) if kind == "RootWebArea" else node["union_bound"]
    is_editable = kind in _EDITABLE
    return Element(
        kind="text" if kind == "StaticText" else kind,
        text=str(node.get("value", {}).get("value", "")) if is_editable else name,
        box=(round(left), round(top), round(left + width), round(top + height)),
        name=name if is_editable else "",
        is_clickable=kind in _CLICKABLE or is_editable,
        is_editable=is_editable,
        is_focused=bool(told.get("focused")),
        is_scrollable=kind == "RootWebArea",
        is_checked=told["checked"] == "true" if "checked" in told else None,
    )

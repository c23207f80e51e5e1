"""A phone as an environment: observed as a page is, and acted on by fingers and the system's keys."""

import base64
from typing import Any
from urllib.parse import urljoin

from data.action_spaces.androidworld import APP
from data.action_spaces.translate import SCROLLED
from data.actions.action import CANNOT_EXECUTE, ActionError, Answer, Click, Drag, GoBack, Restart, Scroll, Type, Wait
from data.actions.finger import scroll_by_finger
from data.actions.point_action import AnyAction, ClickAt, CloseTab, DragAt, GoTo, Press, ScrollAt, Write
from data.actions.screen import Point
from data.trajectory import FINAL_SCREEN
from environments.browser.acting.actions import act
from environments.elements import center_of
from environments.environment import Observation
from environments.touch.address import home_of
from environments.touch.apps.home import COLORS
from environments.touch.chromium_screen import ChromiumScreen
from environments.websites import WebsiteEnvironment

_OUTSIDE = """(x, y) => Boolean(document.elementFromPoint(x, y)?.closest(
    "select, input:is([type=file], [type=color], [type=date], [type=time], [type=datetime-local])"))"""


class TouchEnvironment(WebsiteEnvironment):
    """`Restart` is the home key, `DragAt` from a point to the same one a long press, and `GoTo("app:Clock")` starts an
    app. Points and numbered elements may be used alike."""

    @property
    def screen(self) -> ChromiumScreen:
        """What is shown now."""
        return ChromiumScreen(self.page, home_of(self._given.web))

    async def _carry_out(self, action: AnyAction, seen: Observation) -> str:
        screen = self.screen
        match action:
            case Answer():
                return ""
            case Wait():
                return await act(self.page, action, seen, self._start_url)
            case ClickAt(at, "left", count):
                await self._tap(at, count)
            case Click(label):
                await self._tap(center_of(seen, label))
            case DragAt(start, end) if start is not None:
                await screen.swipe(start.x, start.y, end.x, end.y)
            case Drag(label, target):
                start, end = center_of(seen, label), center_of(seen, target)
                await screen.swipe(start.x, start.y, end.x, end.y)
            case ScrollAt(right, down, at):
                await self._scroll(right, down, at)
            case Scroll(label, direction):
                height = round(screen.size[1] * SCROLLED)
                at = None if label is None else center_of(seen, label)
                await self._scroll(0, height if direction == "down" else -height, at)
            case Write(content, at, replace, enter):
                await self._write(content, at, replace, enter)
            case Type(label, content):
                await self._write(content, center_of(seen, label), replace=True, enter=True)
            case Press(("Enter",)):
                await screen.key("enter")
            case GoBack() if await self.tabs.began_here():
                return await self.tabs.act(CloseTab(), self._start_url)
            case GoBack():
                await screen.key("back")
            case Restart():
                await screen.key("home")
            case GoTo(url) if url.startswith(APP):
                await self._start_app(url.removeprefix(APP))
            case _:
                raise ActionError(CANNOT_EXECUTE, f"A phone has no {type(action).__name__}.")
        return " ".join(self.page.take_messages())

    async def _tap(self, at: Point, count: int = 1) -> None:
        if await self.page.run(_OUTSIDE, at.x, at.y):
            raise ActionError(CANNOT_EXECUTE, "This would open outside of the screenshot; nothing was done.")
        for _ in range(count):
            await self.screen.tap(at.x, at.y)

    async def _scroll(self, right: float, down: float, at: Point | None) -> None:
        way = scroll_by_finger(right, down, at, self.screen.size)
        assert way.start is not None
        await self.screen.swipe(way.start.x, way.start.y, way.end.x, way.end.y)

    async def _write(self, content: str, at: Point | None, replace: bool, enter: bool) -> None:
        screen = self.screen
        if at is not None:
            await self._tap(at)
        if not await screen.has_cursor():
            raise ActionError(CANNOT_EXECUTE, "There is no cursor to write at: tap a text field first.")
        if replace:
            await screen.select_all()
        await screen.type(content)
        if enter:
            await screen.key("enter")

    async def _start_app(self, name: str) -> None:
        known = {app.lower(): app for app in COLORS}
        if name.lower() not in known:
            raise ActionError(CANNOT_EXECUTE, f"There is no app {name[:40]!r}; there are {', '.join(COLORS)}.")
        await self.screen.open(urljoin(self.screen.home, name.lower()))

    async def final_state(self) -> dict[str, Any]:
        """Also the screen after the last action, for judges that look at it."""
        shown = await self.screen.screenshot()  # first: asking for the state may leave the page
        png = base64.b64encode(shown).decode()
        return {**await super().final_state(), FINAL_SCREEN: {"png": png}}

    @property
    def provenance(self) -> dict[str, Any]:
        return {**super().provenance, "touch": True}

"""The tabs of a trajectory, those that the agent opens and those that pages open: one of them is in front.

What a page opens is shown at once, as a person would see it, and where it closes the tab that opened it is shown again.
So it is in every action space; those with tabs have a list of them too.
"""

import asyncio
import contextlib

from data.actions.action import CANNOT_EXECUTE, ActionError
from data.actions.point_action import CloseTab, OpenTab, SelectTab
from environments.browser.chromium.cdp import RefusedError
from environments.browser.page.page import Page
from environments.browser.page.settle import settle
from environments.browser.scripts import script

MAX_TABS = 8
MAX_TURNS = 3  # of the front after one action; pages that open each other would keep us here for ever
BLANK_S = 2.0  # for a tab that is opened blank and then sent somewhere by a script
_IS_BLANK = "() => location.href === 'about:blank' && !document.body?.childNodes.length"


class Tabs:
    """`front` is the page that is seen and acted on."""

    def __init__(self, first: Page):
        self.front, self._context = first, first.context
        self._documents: dict[str, str] = {}

    @property
    def pages(self) -> list[Page]:
        """Those that are open, oldest first."""
        return self._context.pages

    @property
    def came_from_a_page(self) -> bool:
        """Whether the one in front was opened by another that is still there."""
        return self._opener(self.front) is not None

    async def began_here(self) -> bool:
        """Whether nothing leads back within the tab in front, but a page opened it: closing it goes back."""
        if not self.came_from_a_page:
            return False
        history = await self.front.send("Page.getNavigationHistory")
        before = history["entries"][: history["currentIndex"]]
        return not before or before[-1]["url"] in ("", "about:blank")

    async def act(self, action: OpenTab | SelectTab | CloseTab, start_url: str) -> str:
        """Open one at `start_url`, or turn to another. Returns what is to be told of it.

        Raises:
            ActionError: there is no such tab.
        """
        if self.front.closed:  # by itself, just now; `follow` tells it
            return ""
        match action:
            case OpenTab():
                if len(self.pages) >= MAX_TABS:
                    raise ActionError(CANNOT_EXECUTE, f"There are {MAX_TABS} tabs already; close one.")
                self.front = await self._context.new_page()
                await self.front.goto(start_url)
                await settle(self.front)
            case CloseTab():
                if len(self.pages) == 1:
                    raise ActionError(CANNOT_EXECUTE, "The only tab cannot be closed.")
                closed, place = self.front, self.pages.index(self.front)
                await closed.close_tab()
                self.front = self._opener(closed) or self.pages[max(0, place - 1)]
                await settle(self.front)  # it may be told that the other closed
            case SelectTab(index):
                place = self.pages.index(self.front)
                index = (place + 1) % len(self.pages) if index is None else index
                if not 0 <= index < len(self.pages):
                    raise ActionError(CANNOT_EXECUTE, f"There is no tab {index}; there are {len(self.pages)}, from 0.")
                self.front = self.pages[index]
        await self.front.send("Page.bringToFront")
        return await self._where()

    def mark(self) -> None:
        """Remember what the tabs show, so that `follow` sees which of them an action sent elsewhere."""
        self._documents = {page.target_id: page.document for page in self.pages}

    def stay(self) -> None:
        """What was opened up to now is kept in the background: a browser blocks what opens without a click."""
        self._context.take_arrived()

    async def follow(self, start_url: str) -> str:
        """Turn to what pages opened, or sent elsewhere in a tab they had opened, and back from what closed itself;
        where nothing is left, to a new tab at `start_url`. Returns sentences about it, or "".
        """
        said, before = [], self.front
        for _ in range(MAX_TURNS):
            if (front := self._next_front()) is self.front:
                break
            if front is None:
                front = await self._context.new_page()
                await front.goto(start_url)
            behind, self.front = self.front, front
            with contextlib.suppress(RefusedError):  # it closed just now
                await front.send("Page.bringToFront")
                await _arrive(front)
                if not behind.closed and await _shows_nothing(front):
                    self.front = behind
                    await behind.send("Page.bringToFront")
                    said.append("A tab was opened that shows nothing; it stays behind this one.")
        if before.closed:
            said.append("The tab was closed by its page.")
        if self.front is not before:
            said.append(await self._where())
        if self._context.num_refused:
            said.append("The page opened too many tabs at once; further ones were closed.")
            self._context.num_refused = 0
        for page in self.pages:
            if page is not before:
                said += page.take_messages()
        await self._close_oldest()
        return " ".join(said)

    async def lines(self) -> tuple[str, ...]:
        """Number and address of each, where there are several."""
        pages = list(self.pages)
        if len(pages) == 1:
            return ()
        addresses = await asyncio.gather(*map(_address, pages))
        fronts = [", in front" if page is self.front else "" for page in pages]
        return tuple(f"{n}{front}: {url}" for n, (front, url) in enumerate(zip(fronts, addresses, strict=True)))

    async def close(self) -> None:
        """All of them; never raises."""
        await self._context.close()

    def _next_front(self) -> Page | None:
        """What belongs in front now; None when no tab is left."""
        sent = [
            page
            for page in self.pages
            if page.opener_id == self.front.target_id
            and self._documents.get(page.target_id, page.document) != page.document
        ]
        self._documents = {page.target_id: page.document for page in self.pages}
        if newest := [*sent, *self._context.take_arrived()]:
            return newest[-1]
        if not self.front.closed:
            return self.front
        return self._opener(self.front) or (self.pages[-1] if self.pages else None)

    def _opener(self, page: Page) -> Page | None:
        return next((other for other in self.pages if other.target_id == page.opener_id), None)

    async def _close_oldest(self) -> None:
        """The first one and the one in front stay."""
        for page in [page for page in self.pages[1:] if page is not self.front][: max(0, len(self.pages) - MAX_TABS)]:
            with contextlib.suppress(RefusedError):
                await page.close_tab()

    async def _where(self) -> str:
        if self.front.closed:
            return ""
        number = self.pages.index(self.front)
        where = f"Tab {number} is in front, at {await _address(self.front)}"
        return f"{where}, which could not be loaded." if self.front.is_unreachable else f"{where}."


async def _arrive(page: Page) -> None:
    """Let a tab come to rest; one that is still blank may be filled by a script of its opener a little later."""
    await settle(page)
    with contextlib.suppress(RefusedError):
        if not await page.run(_IS_BLANK):
            return
        await page.run(script("change.js"), round(BLANK_S * 1000))
    await settle(page)


async def _shows_nothing(page: Page) -> bool:
    """Whether no document came, as from a link to another program or an answer without content. It is never drawn."""
    return not page.document and await page.run(_IS_BLANK)


async def _address(page: Page) -> str:
    try:
        return await page.address()
    except RefusedError:
        return "about:blank"

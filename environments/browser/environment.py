"""A page of Chromium as an environment: it begins where the task does, and is observed when it has come to rest."""

import asyncio
import contextlib
import dataclasses
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from data.actions.action import Action, ActionError, GoBack
from data.actions.point_action import AnyAction, CloseTab, OpenTab, SelectTab
from data.task import Task
from environments.browser.acting.actions import act
from environments.browser.acting.effects import changes, looks_the_same
from environments.browser.chromium.cdp import RefusedError
from environments.browser.config import BrowserConfig
from environments.browser.observation.observe import observe
from environments.browser.page.page import Page
from environments.browser.page.settle import settle
from environments.browser.scripts import script
from environments.browser.storage_state import read_storage_state, restore
from environments.browser.tabs import Tabs
from environments.browser.walls import MAX_NODES, describe_wall
from environments.environment import Environment, Observation
from environments.faults import BlockedError, BrowserError, PageError

OPEN_PAUSES_S = (0.5, 1.0, 2.0)
DOWNLOAD_TIMEOUT_S = 20.0


class BrowserEnvironment(Environment):
    """One page in a browser context of its own, which nothing was done in yet."""

    def __init__(self, page: Page, config: BrowserConfig):
        self.tabs, self.config = Tabs(page), config
        self.task: Task | None = None
        self._is_first = True
        self._seen: Observation | None = None
        self._may_change = False  # whether an action was done that is to change what is seen

    @property
    def page(self) -> Page:
        """The one in front."""
        return self.tabs.front

    async def reset(self, task: Task, seed: int | None = None) -> None:
        """Log in where the task has a `storage_state`, and load the start page, again where that failed."""
        self.task = task
        if task.storage_state:
            # Read now: a reset of the backend may have logged in anew.
            await restore(self.page, await asyncio.to_thread(read_storage_state, Path(task.storage_state)))
        for pause_s in (*OPEN_PAUSES_S, None):
            try:
                await self.page.goto(task.web)
                await settle(self.page)
                self.tabs.stay()
                return
            except PageError:
                if pause_s is None:
                    raise
                await asyncio.sleep(pause_s)

    async def observe(self) -> Observation:
        """The page as it is, tried again where something keeps the agent from the task's own site: it may pass.

        Raises:
            PageError: the site cannot be reached any more, or answers its start page with a server error.
            BlockedError: it turns the agent away.
        """
        seen, before = await self._observe_own_site(), self._seen
        self._is_first = False
        files = await self.page.downloads.finish(DOWNLOAD_TIMEOUT_S)
        viewport = self.page.viewport.width, self.page.viewport.height
        seen = dataclasses.replace(seen, files=tuple(files), viewport=viewport, tabs=await self.tabs.lines())
        if self._may_change and before is not None and looks_the_same(before, seen):
            seen = dataclasses.replace(seen, note="The page looks as before.")
        self._seen, self._may_change = seen, False
        return self._seen

    async def act(self, action: AnyAction) -> str:
        """Act and let the page settle."""
        if self.task is None or self._seen is None:
            raise ValueError("an action refers to what was observed last: call reset, then observe")
        self.tabs.mark()
        note, failure = "", None
        try:
            note = await self._carry_out(action, self._seen)
        except ActionError as error:
            failure = error
        except RefusedError:
            if not self.page.closed:  # which it may be at any time, by a script of its own or of its opener
                raise
        followed = await self.tabs.follow(self._start_url)
        self._may_change = changes(action) and failure is None and not (isinstance(action, Action) and note)
        if failure is not None:
            raise ActionError(str(failure), " ".join(filter(None, [failure.reason, followed])))
        return " ".join(filter(None, [note, followed]))

    async def _carry_out(self, action: AnyAction, seen: Observation) -> str:
        if isinstance(action, OpenTab | SelectTab | CloseTab):
            return await self.tabs.act(action, self._start_url)
        if isinstance(action, GoBack) and await self.tabs.began_here():
            return await self.tabs.act(CloseTab(), self._start_url)
        return await act(self.page, action, seen, self._start_url, self.config.upload_dir)

    @property
    def _given(self) -> Task:
        assert self.task is not None  # reset comes first
        return self.task

    @property
    def _start_url(self) -> str:
        """Where `Restart` leads, and a new tab begins."""
        return self.config.restart_url or self._given.web

    async def final_state(self) -> dict[str, Any]:
        """Nothing: worlds know what their ground truth looks at."""
        return {}

    async def close(self) -> None:
        await self.tabs.close()

    @property
    def provenance(self) -> dict[str, Any]:
        return {
            "browser": self.page.browser.version,
            "viewport": [self.page.viewport.width, self.page.viewport.height],
            "observation": self.config.observation,
            "tree_visibility": self.config.visibility,
        }

    @property
    def dead_host(self) -> object | None:
        """The browser, when it is gone."""
        return self.page.browser if self.page.browser.connection.closed.is_set() else None

    async def freeze(self, frozen: bool) -> None:
        """A page that cannot be frozen, being replaced or gone, says so itself at the next request."""
        requests = [
            ("Emulation.setFocusEmulationEnabled", {"enabled": not frozen}),  # the timers of a page in focus go on
            ("Page.setWebLifecycleState", {"state": "frozen" if frozen else "active"}),
        ]
        for page in list(self.page.context.pages):
            with contextlib.suppress(BrowserError, RefusedError):
                await page.send_all(requests)

    async def _observe_own_site(self) -> Observation:
        """Again, until the task's own site neither is broken nor turns the agent away."""
        for pause_s in (*OPEN_PAUSES_S, None):
            seen = await self.observe_once()
            wall = await self._wall(seen)
            is_broken = seen.url.startswith("chrome-error:")
            is_refused = self._is_first and self.page.status >= 500
            if not (wall or is_broken or is_refused):
                return seen
            address = await self.page.address() if is_broken else seen.url
            is_elsewhere = urlsplit(address).hostname != urlsplit(self._given.web).hostname
            if not self._is_first and (is_elsewhere or (is_broken and self.tabs.came_from_a_page)):
                return seen  # another site, or a pop-up that does not load: the agent may go back
            if pause_s is None:
                if wall:
                    raise BlockedError(f"{address}: {wall}")
                raise PageError(
                    f"{address}: " + ("could not be loaded any more" if is_broken else f"HTTP {self.page.status}")
                )
            await asyncio.sleep(pause_s)
            await self.page.send("Page.reload")
            await settle(self.page)
        raise AssertionError("unreachable")

    async def observe_once(self) -> Observation:
        """Whatever the page shows, once it can be observed."""
        if self.page.closed:  # by a script, since the last action
            self.page.say(await self.tabs.follow(self._start_url))
        page, config = self.page, self.config
        if page.activity.navigating:  # a document asked for after the page had come to rest
            await settle(page)
        await self._reload_what_came_empty()
        for is_last in (False, True):
            try:
                seen = await observe(page, config.visibility, config.observation, config.fix_box_color)
                if seen.tree or is_last or config.observation == "marks":
                    return seen  # a tree without its root is that of a document that is being replaced
            except RefusedError as error:  # the document was being replaced; ask once more when it is there
                if is_last:
                    raise BrowserError(f"the page cannot be observed: {error}") from None
            except BrowserError:  # while the next document is on its way a page may stay silent
                if is_last or not page.activity.navigating:
                    raise
            await settle(page)
        raise AssertionError("unreachable")

    async def _reload_what_came_empty(self) -> None:
        """Chromium never draws a document whose connection broke before its body; a person asks for it again."""
        page = self.page
        for pause_s in (*OPEN_PAUSES_S, None):
            if not (page.activity.broken_off and await page.run("() => !document.body")):
                return
            if pause_s is None:
                raise PageError(f"{await page.address()}: the connection broke before anything of the page came")
            await asyncio.sleep(pause_s)
            await page.send("Page.reload")
            await settle(page)

    async def _wall(self, seen: Observation) -> str:
        """What turns the agent away, or ""."""
        text = seen.tree
        if self.config.observation == "marks" and len(seen.nodes) <= MAX_NODES:  # their list does not hold plain text
            with contextlib.suppress(RefusedError):
                text = await self.page.run(script("outline.js"))
        return describe_wall(self.page.status, text, len(seen.nodes), self._is_first)

"""One tab of a browser context, with a fixed viewport: requests to it, and what it says of itself."""

import asyncio
import contextlib
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from common.shown.cut_text import cut_middle
from environments.browser.chromium.cdp import Params, RefusedError
from environments.browser.gate.url_policy import may_open
from environments.browser.page.activity import Activity
from environments.browser.page.frames import Frame, Frames
from environments.browser.page.worlds import NAME, SHARED, Worlds
from environments.faults import BrowserError, PageError

if TYPE_CHECKING:
    from environments.browser.page.context import Context

CLOSED = "the tab was closed"
NAVIGATION_TIMEOUT_S = 30.0
NO_CONTENT = (204, 205)  # after which a browser keeps the page it shows
MAX_DIALOGS = 100  # between two observations; a page with more never ends
MAX_DIALOGS_TOLD = 5
MAX_DIALOG_CHARS = 300
MAX_ADDRESS = 4000  # characters; one of a data: document may have millions
Request = tuple[str, Params]
HEARD_FIRST: Request = ("Page.addScriptToEvaluateOnNewDocument", {"source": SHARED, "worldName": NAME})
_GO_ON = ("Runtime.runIfWaitingForDebugger", {})
ATTACH_FRAMES = {
    "autoAttach": True,
    "waitForDebuggerOnStart": True,  # so that our listeners are there before any of a frame's own
    "flatten": True,  # and no filter: Chromium has workers wait, too, also those that it would not attach
}


@dataclass(frozen=True)
class Viewport:
    """CSS pixels; `scale` is device pixels per CSS pixel, 0 the screen's own. `touch`: pages see a phone with one
    finger."""

    width: int = 1024
    height: int = 768
    scale: float = 1.0
    touch: bool = False


class Page:
    """One tab of a context. `opener_id` is the target of the tab that opened it, "" where we did. Once it is `closed`,
    by itself or by another, every request raises RefusedError.

    A node is what an observation labels: `backendDOMNodeId`, or `mark`, and `frameId` where not in the main frame.
    """

    def __init__(self, context: "Context", target_id: str, session_id: str, opener_id: str):
        self.context, self.browser, self.viewport = context, context.browser, context.viewport
        self.downloads = context.downloads
        self.target_id, self.session_id, self.opener_id = target_id, session_id, opener_id
        self.closed = False
        self.activity = Activity(main_frame=target_id)  # a page's main frame bears its target's id
        self.frames = Frames(target_id, session_id)
        self._worlds = Worlds(self.send)
        self._document = ""
        self.is_unreachable = False  # whether it shows the browser's error page
        self._statuses: dict[str, int] = {}
        self.chooser: Params | None = None  # the file input whose dialog the page asked for
        self.mouse = (0.0, 0.0)
        self.touched = False  # whether anything was done since its document came
        self.passing: set[str] = set()  # addresses that were left by scripts before anything was done there
        self._address = ""
        self.meant: Params | None = None  # the textbox that was clicked at a point last, for the text that comes next
        self._messages: list[str] = []
        self._num_dialogs = 0
        self._broken = ""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._sessions: set[str] = set()
        self._accessible: dict[str, str] = {}
        self._listen(session_id)

    async def set_up(self) -> None:
        """Our viewport, name and listeners, before the tab does anything."""
        touch = self.viewport.touch
        metrics = {"width": self.viewport.width, "height": self.viewport.height, "mobile": touch}
        fingers = [("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 1})] if touch else []
        await self.send_all(
            [
                ("Emulation.setDeviceMetricsOverride", {**metrics, "deviceScaleFactor": self.viewport.scale}),
                *fingers,
                ("Emulation.setUserAgentOverride", {"userAgent": self.browser.user_agent}),
                ("Emulation.setFocusEmulationEnabled", {"enabled": True}),
                ("Page.enable", {}),
                ("Page.setLifecycleEventsEnabled", {"enabled": True}),
                ("Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0}),
                ("Inspector.enable", {}),
                ("Target.setAutoAttach", ATTACH_FRAMES),
                HEARD_FIRST,
                *self.context.first,
                ("Page.setInterceptFileChooserDialog", {"enabled": True}),
                _GO_ON,
            ]
        )

    async def close(self) -> None:
        """The whole context; never raises, the page may be long dead."""
        await self.context.close()

    async def close_tab(self) -> None:
        """This one of several."""
        await self.browser.connection.send("Target.closeTarget", {"targetId": self.target_id})
        self.context.drop(self)  # not only when the browser tells that it is gone

    def end(self) -> None:
        """The tab is gone; what waits for it is refused."""
        self.closed = True
        self.forget()
        self.browser.connection.fail_session(self.session_id, RefusedError(CLOSED))

    def forget(self) -> None:
        """Hear no more of it."""
        for session_id in self._sessions:
            self.browser.connection.on_event(session_id, None)

    async def send(
        self, method: str, params: Params | None = None, timeout_s: float = 30.0, frame: Frame | None = None
    ) -> Params:
        """One DevTools request to the process that draws the frame, by default the main one."""
        return (await self.send_all([(method, params or {})], timeout_s, frame))[0]

    async def send_all(
        self, requests: list[Request], timeout_s: float = 30.0, frame: Frame | None = None
    ) -> list[Params]:
        """Several requests, in order, without waiting in between."""
        if self._broken:
            raise BrowserError(self._broken)
        if self.closed:
            raise RefusedError(CLOSED)
        session_id = frame.session_id if frame else self.session_id
        try:
            return await self.browser.connection.send_all(requests, session_id, timeout_s)
        except RefusedError:
            if self._broken:
                raise BrowserError(self._broken) from None
            raise

    @property
    def document(self) -> str:
        """An id of the present document."""
        return self._document

    @property
    def status(self) -> int:
        """HTTP status of the present document, 0 when it has none."""
        return self._statuses.get(self._document, 0)

    async def goto(self, url: str) -> None:
        """Navigate; returns when the new document is there (not yet settled).

        Raises:
            PageError: the address could not be loaded.
        """
        if not may_open(url):  # a page may ask for a tab with any address
            raise PageError(f"{url}: only http and https pages are opened")
        try:
            answer = await self.send("Page.navigate", {"url": url}, NAVIGATION_TIMEOUT_S)
        except RefusedError as error:
            raise PageError(f"{url}: {error}") from None
        except BrowserError:
            if self._broken or self.browser.connection.closed.is_set():
                raise
            raise PageError(f"{url}: no answer in {NAVIGATION_TIMEOUT_S:.0f} s") from None
        error = answer.get("errorText", "")
        if error and error != "net::ERR_ABORTED":  # aborted: the address was a download
            raise PageError(f"{url}: {error}")

    def say(self, message: str) -> None:
        """Add a sentence to what the agent is told of the page."""
        self._messages.append(message)

    def take_messages(self) -> list[str]:
        """What the page did outside itself since last asked: dialogs and downloads, a sentence each."""
        messages, self._messages, self._num_dialogs = self._messages, [], 0
        return [*messages, *self.downloads.take_messages()]

    async def run(self, function: str, *arguments: Any, timeout_s: float = 30.0, frame: Frame | None = None) -> Any:
        """Call a JavaScript function in our isolated world and return its JSON value, awaited if it is a promise."""
        return await self._worlds.run(frame or self.frames.main, function, arguments, timeout_s)

    async def run_on(self, node: Params, function: str, *arguments: Any) -> Any:
        """The same with `this` = the node's DOM node; RefusedError when it is gone."""
        return await self._worlds.run_on(self.frame_of(node), await self.resolve(node), function, arguments)

    async def reveal(self, frame: Frame, nodes: Sequence[int]) -> bool:
        """Make the closed shadow roots around nodes, by backend id, known to our scripts; whether some are new."""
        return await self._worlds.reveal(frame, nodes)

    async def remembered(self, name: str, frame: Frame) -> list[str]:
        """What a script of ours remembered in that frame as the array `name`, as DevTools objects."""
        return await self._worlds.remembered(frame, name)

    async def keep_accessible(self, frame: Frame | None) -> None:
        """Have the frame's process keep its accessibility tree, which each question would build anew otherwise. None:
        let all go, since keeping it up to date costs the page time.

        By a session of its own: Chromium 156 crashes where one that has read a whole tree keeps that of a later page.
        """
        send = self.browser.connection.send
        if frame is not None and frame.session_id not in self._accessible:
            target = {"targetId": self.frames.outermost(frame).id, "flatten": True}
            self._accessible[frame.session_id] = session_id = (await send("Target.attachToTarget", target))["sessionId"]
            await send("Accessibility.enable", session_id=session_id)
        if frame is None and self._accessible:
            kept, self._accessible = self._accessible, {}
            for session_id in kept.values():
                self.later(send("Target.detachFromTarget", {"sessionId": session_id}))

    def frame_of(self, node: Params) -> Frame:
        """Where the node lies; RefusedError when that is gone."""
        frame = self.frames.get(node.get("frameId", self.target_id))
        if frame is None:
            raise RefusedError("the frame is gone")
        return frame

    async def resolve(self, node: Params) -> str:
        """The node as a DevTools object of our isolated world; RefusedError when it is gone."""
        frame = self.frame_of(node)
        if "mark" in node:
            return await self._worlds.resolve_mark(frame, int(node["mark"]))
        return await self._worlds.resolve(frame, node["backendDOMNodeId"])

    async def address(self) -> str:
        """The address of the tab, also when it shows the browser's error page; a long one is cut."""
        history = await self.send("Page.getNavigationHistory")
        return cut_middle(history["entries"][history["currentIndex"]]["url"], MAX_ADDRESS)

    async def fetch_json(self, url: str) -> Any:
        """GET with this context's cookies, from a page of the same origin."""
        origin = "{0.scheme}://{0.netloc}/".format(urlsplit(url))
        if not (await self.address()).startswith(origin):
            await self.goto(origin)
        try:
            return await self.run("(url) => fetch(url).then((answer) => answer.json())", url)
        except RefusedError as error:
            raise PageError(f"{url}: {error}") from None

    def _listen(self, session_id: str) -> None:
        self._sessions.add(session_id)
        self.browser.connection.on_event(session_id, functools.partial(self._on_event, session_id))

    def _on_event(self, session_id: str, method: str, params: Params) -> None:
        self.activity.take(method, params)
        self.frames.take(session_id, method, params)
        if method == "Page.frameNavigated":
            self._worlds.forget(params["frame"]["id"])
            if params["frame"]["id"] == self.target_id:
                self._pass(params["frame"]["url"])
                self._document, self.meant = params["frame"]["loaderId"], None
                self.is_unreachable = "unreachableUrl" in params["frame"]
                self._statuses = {
                    loader: status for loader, status in self._statuses.items() if loader == self._document
                }
        elif method == "Network.responseReceived":
            if params["type"] == "Document" and params.get("frameId") == self.target_id:
                self._statuses[params["loaderId"]] = status = params["response"]["status"]
                if status in NO_CONTENT:
                    self.say(f"The website answered with HTTP {status}, which has no content: the page stayed.")
        elif method == "Target.attachedToTarget":
            self._join(session_id, params)
        elif method == "Page.javascriptDialogOpening":
            self._take_dialog(params)
        elif method == "Page.fileChooserOpened":
            if "backendNodeId" in params:
                self.chooser = {"backendDOMNodeId": params["backendNodeId"], "frameId": params["frameId"]}
                self._messages.append("The page asks for a file: type its name into the element you clicked.")
        elif refused := self.downloads.take(method, params):
            cancel = {"guid": refused, "browserContextId": self.context.id}
            self.later(self.browser.connection.send("Browser.cancelDownload", cancel))
            if self.downloads.are_too_many:  # small ones come faster than they are cancelled
                deny = {"behavior": "deny", "browserContextId": self.context.id}
                self.later(self.browser.connection.send("Browser.setDownloadBehavior", deny))
        elif method == "Inspector.targetCrashed" and session_id == self.session_id:
            self._give_up("the page crashed")

    def _pass(self, address: str) -> None:
        """The tab is somewhere else now."""
        if self._address and not self.touched:
            self.passing.add(self._address)
        self._address, self.touched = address, False

    def touch(self) -> None:
        """Something is about to be done here: its address is one to go back to."""
        self.touched = True
        self.passing.discard(self._address)

    def _take_dialog(self, params: Params) -> None:
        """Accept it. A page that never stops asking hangs; its trajectory ends here, not at a deadline."""
        self._num_dialogs += 1
        if self._num_dialogs <= MAX_DIALOGS_TOLD and params["type"] != "beforeunload":
            message = cut_middle(params["message"], MAX_DIALOG_CHARS)
            self._messages.append(f'The page showed a dialog, which was accepted: "{message}".')
        if self._num_dialogs > MAX_DIALOGS:
            self._give_up(f"the page showed {MAX_DIALOGS} dialogs in a row")
            return
        answer = {"accept": True, "promptText": params.get("defaultPrompt", "")}
        self.later(self.send("Page.handleJavaScriptDialog", answer))

    def _give_up(self, reason: str) -> None:
        """The page can be used no more; requests that wait for it fail with this reason."""
        self._broken = reason
        self.browser.connection.fail_session(self.session_id, BrowserError(reason))

    def _join(self, parent_session: str, params: Params) -> None:
        """What waits for us: a frame drawn by a process of its own, which tells what happens in it from now on, or a
        worker, which is let go."""
        session_id = params["sessionId"]
        if params["targetInfo"]["type"] == "iframe":
            self._listen(session_id)
            requests = [
                ("Emulation.setUserAgentOverride", {"userAgent": self.browser.user_agent}),
                ("Page.enable", {}),
                ("Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0}),
                ("Target.setAutoAttach", ATTACH_FRAMES),
                HEARD_FIRST,
                *self.context.first,
                _GO_ON,
            ]
            self.later(self.browser.connection.send_all(requests, session_id))
        else:
            self.later(self._let_go(session_id, parent_session))

    async def _let_go(self, session_id: str, parent_session: str) -> None:
        await self.browser.connection.send_all([_GO_ON], session_id)
        await self.browser.connection.send("Target.detachFromTarget", {"sessionId": session_id}, parent_session)

    def later(self, request: Any) -> None:
        """Send without waiting; the answer does not matter."""

        async def quietly() -> None:
            with contextlib.suppress(BrowserError, RefusedError):
                await request

        task = asyncio.create_task(quietly())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

"""One page in a browser context of its own: its own cookies, storage and cache, one tab, a fixed viewport."""

import asyncio
import contextlib
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from collection.browser.activity import Activity
from collection.browser.cdp import Params, RefusedError
from collection.browser.faults import BrowserError, PageError
from collection.browser.launch import Browser

WORLD = "elcano"  # our scripts run in an isolated world: pages see neither them nor their variables
NAVIGATION_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Viewport:
    """CSS pixels; `scale` is device pixels per CSS pixel, 0 the screen's own."""

    width: int = 1024
    height: int = 768
    scale: float = 1.0


@functools.cache
def script(name: str) -> str:
    """The JavaScript function kept in a file beside this one."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


class Page:
    """Open with `Page.open`, close with `close`. `new_tabs` are addresses it opened elsewhere since last looked at."""

    def __init__(self, browser: Browser, context_id: str, target_id: str, session_id: str, viewport: Viewport):
        self.browser, self.viewport = browser, viewport
        self.context_id, self.target_id, self.session_id = context_id, target_id, session_id
        self.activity = Activity(main_frame=target_id)  # a page's main frame bears its target's id
        self.new_tabs: list[str] = []
        self._messages: list[str] = []
        self._crashed = False
        self._tasks: set[asyncio.Task[Any]] = set()
        browser.connection.on_event(session_id, self._on_event)

    @classmethod
    async def open(cls, browser: Browser, viewport: Viewport, download_dir: Path) -> "Page":
        """A blank page in a new context; its downloads go to `download_dir`."""
        send = browser.connection.send
        context_id = (await send("Target.createBrowserContext", {"disposeOnDetach": True}))["browserContextId"]
        target = {"url": "about:blank", "browserContextId": context_id, "width": viewport.width}
        target_id = (await send("Target.createTarget", {**target, "height": viewport.height}))["targetId"]
        session_id = (await send("Target.attachToTarget", {"targetId": target_id, "flatten": True}))["sessionId"]
        page = cls(browser, context_id, target_id, session_id, viewport)
        metrics = {"width": viewport.width, "height": viewport.height, "mobile": False}
        downloads = {"behavior": "allow", "browserContextId": context_id, "downloadPath": str(download_dir.resolve())}
        await send("Browser.setDownloadBehavior", downloads)
        await browser.connection.send_all(
            [
                ("Emulation.setDeviceMetricsOverride", {**metrics, "deviceScaleFactor": viewport.scale}),
                ("Emulation.setUserAgentOverride", {"userAgent": browser.user_agent}),
                ("Emulation.setFocusEmulationEnabled", {"enabled": True}),
                ("Page.enable", {}),
                ("Page.setLifecycleEventsEnabled", {"enabled": True}),
                ("Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0}),
                ("Inspector.enable", {}),
            ],
            session_id,
        )
        return page

    async def close(self) -> None:
        """Dispose of the context; never raises, the page may be long dead."""
        self.browser.connection.on_event(self.session_id, None)
        with contextlib.suppress(BrowserError, RefusedError):
            context = {"browserContextId": self.context_id}
            await self.browser.connection.send("Target.disposeBrowserContext", context, timeout_s=10)

    async def send(self, method: str, params: Params | None = None, timeout_s: float = 30.0) -> Params:
        """One DevTools request to this page."""
        return (await self.send_all([(method, params or {})], timeout_s))[0]

    async def send_all(self, requests: list[tuple[str, Params]], timeout_s: float = 30.0) -> list[Params]:
        """Several requests, in order, without waiting in between."""
        if self._crashed:
            raise BrowserError("the page crashed")
        try:
            return await self.browser.connection.send_all(requests, self.session_id, timeout_s)
        except RefusedError:
            if self._crashed:
                raise BrowserError("the page crashed") from None
            raise

    async def goto(self, url: str) -> None:
        """Navigate; returns when the new document is there (not yet settled).

        Raises:
            PageError: the address could not be loaded.
        """
        try:
            answer = await self.send("Page.navigate", {"url": url}, NAVIGATION_TIMEOUT_S)
        except RefusedError as error:
            raise PageError(f"{url}: {error}") from None
        except BrowserError:
            if self._crashed or self.browser.connection.closed.is_set():
                raise
            raise PageError(f"{url}: no answer in {NAVIGATION_TIMEOUT_S:.0f} s") from None
        error = answer.get("errorText", "")
        if error and error != "net::ERR_ABORTED":  # aborted: the address was a download
            raise PageError(f"{url}: {error}")

    def take_messages(self) -> list[str]:
        """What the page did outside itself since last asked: dialogs and downloads, a sentence each."""
        messages, self._messages = self._messages, []
        return messages

    async def run(self, function: str, *arguments: Any, timeout_s: float = 30.0) -> Any:
        """Call a JavaScript function in our isolated world and return its JSON value, awaited if it is a promise."""
        call = f"({function})({','.join(orjson.dumps(argument).decode() for argument in arguments)})"
        request = {"expression": call, "contextId": await self._world(), "awaitPromise": True, "returnByValue": True}
        return _value(await self.send("Runtime.evaluate", request, timeout_s))

    async def run_on(self, backend_node_id: int, function: str, *arguments: Any) -> Any:
        """The same with `this` = the DOM node; RefusedError when the node is gone."""
        resolve = {"backendNodeId": backend_node_id, "executionContextId": await self._world()}
        node = await self.send("DOM.resolveNode", resolve)
        request = {
            "objectId": node["object"]["objectId"],
            "functionDeclaration": function,
            "arguments": [{"value": argument} for argument in arguments],
            "returnByValue": True,
        }
        return _value(await self.send("Runtime.callFunctionOn", request))

    async def _world(self) -> int:
        """The isolated world of the present document, made when it is not there yet."""
        world = {"frameId": self.target_id, "worldName": WORLD}
        return (await self.send("Page.createIsolatedWorld", world))["executionContextId"]

    async def address(self) -> str:
        """The address of the tab, also when it shows the browser's error page."""
        history = await self.send("Page.getNavigationHistory")
        return history["entries"][history["currentIndex"]]["url"]

    async def fetch_json(self, url: str) -> Any:
        """GET with this context's cookies, from a page of the same origin."""
        origin = "{0.scheme}://{0.netloc}/".format(urlsplit(url))
        if not (await self.address()).startswith(origin):
            await self.goto(origin)
        try:
            return await self.run("(url) => fetch(url).then((answer) => answer.json())", url)
        except RefusedError as error:
            raise PageError(f"{url}: {error}") from None

    def _on_event(self, method: str, params: Params) -> None:
        self.activity.take(method, params)
        if method == "Page.javascriptDialogOpening":
            self._messages.append(f'The page showed a dialog, which was accepted: "{params["message"]}".')
            self._later(self.send("Page.handleJavaScriptDialog", {"accept": True}))
        elif method == "Page.downloadWillBegin":
            self._messages.append(f"The file {params['suggestedFilename']} was downloaded.")
        elif method == "Page.windowOpen":
            self.new_tabs.append(params["url"])
        elif method == "Inspector.targetCrashed":
            self._crashed = True
            self.browser.connection.fail_session(self.session_id, "the page crashed")

    def _later(self, request: Any) -> None:
        """Send without waiting; the answer does not matter."""

        async def quietly() -> None:
            with contextlib.suppress(BrowserError, RefusedError):
                await request

        task = asyncio.create_task(quietly())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _value(answer: Params) -> Any:
    if "exceptionDetails" in answer:
        raise RefusedError(answer["exceptionDetails"].get("text", "exception"))
    return answer["result"].get("value")

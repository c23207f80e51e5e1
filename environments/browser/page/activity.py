"""What a page's network is doing, as far as it says that the page is still on its way somewhere."""

import asyncio
import contextlib
import math
import time
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

LONG_REQUEST_S = 3.0  # a request for part of a page no longer holds it after this: long polls, streams, ads
MAX_REPEATS = 8  # a script that asks the same address more often than this is polling
ENDLESS_TYPES = {"WebSocket", "EventSource", "Media", "Ping", "Prefetch", "CSPViolationReport"}


class Activity:
    """Requests in flight and the main frame's loading state, fed with DevTools events of the page."""

    def __init__(self, main_frame: str):
        self._main_frame = main_frame
        self._loading = ""  # the main frame's document, until it is loaded
        self.broken_off = False  # its connection, before all of it came: then it never says that it is loaded
        self._started: dict[str, float] = {}
        self._asked: Counter[str] = Counter()
        self._changed = asyncio.Event()
        self._last_change = time.monotonic()

    def take(self, method: str, params: dict[str, Any]) -> None:
        """One event; those that say nothing about the network are ignored."""
        if method == "Network.requestWillBeSent":
            self._start(params)
        elif method in ("Network.loadingFinished", "Network.loadingFailed"):
            self._end(params["requestId"], failed=method == "Network.loadingFailed")
        elif method == "Page.lifecycleEvent" and params["frameId"] == self._main_frame:
            self._follow(params["name"], params["loaderId"])

    @property
    def busy(self) -> bool:
        """Whether the page loads, or a request that counts is in flight."""
        return bool(self._loading) or self._next_expiry() is not None

    @property
    def navigating(self) -> bool:
        """Whether the main frame asked for a document that has not come yet; until then its process may stay silent."""
        return math.inf in self._started.values()

    @property
    def loading(self) -> bool:
        """Whether the main frame's document is on its way or not loaded to its end."""
        return bool(self._loading) or self.navigating

    def quiet_s(self) -> float:
        """Seconds since a request that counts began or ended."""
        return time.monotonic() - self._last_change

    async def idle(self, timeout_s: float) -> None:
        """Return when nothing holds the page any more, or after `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        while self.busy and (left := deadline - time.monotonic()) > 0:
            if not self._loading:
                left = min(left, (self._next_expiry() or 0.0) - time.monotonic())
            await self._change_within(left)

    async def arrived(self, timeout_s: float) -> bool:
        """Return when no document is on its way to the main frame; False when one still is after `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        while self.navigating and (left := deadline - time.monotonic()) > 0:
            await self._change_within(left)
        return not self.navigating

    async def _change_within(self, timeout_s: float) -> None:
        self._changed.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, timeout_s)):  # 3.11's wait_for loses a SIGTERM that comes now
                await self._changed.wait()

    def _follow(self, stage: str, document: str) -> None:
        """A document's stages come from its own process in order (frameStartedLoading and -StoppedLoading may not)."""
        if stage == "init":
            self._loading, self.broken_off = document, False
            self._asked.clear()
            self._started = {request: when for request, when in self._started.items() if request == document}
        elif stage == "load" and document == self._loading:
            self._loading = ""
        else:
            return
        self._change()

    def _start(self, params: dict[str, Any]) -> None:
        kind, url = params.get("type", ""), params["request"]["url"]
        if kind in ENDLESS_TYPES or url.startswith(("data:", "blob:")):
            return
        if kind in ("XHR", "Fetch"):
            address = urlsplit(url)
            self._asked[address.netloc + address.path] += 1
            if self._asked[address.netloc + address.path] > MAX_REPEATS:
                return
        is_navigation = params["requestId"] == params["loaderId"] and params.get("frameId") == self._main_frame
        self._started[params["requestId"]] = math.inf if is_navigation else time.monotonic()
        self._change()

    def _end(self, request: str, failed: bool) -> None:
        if failed and request == self._loading:
            self._loading, self.broken_off = "", True
            self._change()
        if self._started.pop(request, None) is not None:
            self._change()

    def _next_expiry(self) -> float | None:
        """When the youngest request in flight stops to count; None when none counts now."""
        expiry = max(self._started.values(), default=0.0) + LONG_REQUEST_S
        return expiry if expiry > time.monotonic() else None

    def _change(self) -> None:
        self._last_change = time.monotonic()
        self._changed.set()

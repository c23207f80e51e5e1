"""Where our scripts run: an isolated world in each frame, so that pages see neither them nor their variables."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import orjson

from environments.browser.chromium.cdp import Params, RefusedError
from environments.browser.page.frames import Frame
from environments.browser.scripts import script

NAME = "elcano"
TIMEOUT_S = 30.0
MAX_REVEALED = 1000  # nodes at once
_STALE = "elcano: another world"
_REVEAL = "function () { elcano.reveal(this); }"
SHARED = ";".join(f"({script(name).rstrip()})()" for name in ("world.js", "stand_ins.js", "rows.js", "guard.js"))
"""Makes what our scripts share; run where it is already there, it does nothing."""

Send = Callable[[str, Params, float, Frame], Awaitable[Params]]


class Worlds:
    """One world for each frame's present document, made when it is first needed.

    A remembered world may have ended unheard of; its number may by then be that of another. So each of ours holds the
    variable `elcano`, and nothing runs where it is missing. All methods raise RefusedError for what is gone.
    """

    def __init__(self, send: Send):
        """`send(method, params, timeout_s, frame)` asks the process that draws the frame."""
        self._send = send
        self._ids: dict[str, int] = {}
        self._revealed: dict[str, set[int]] = {}  # nodes in closed shadow roots, asked for already

    def forget(self, frame_id: str) -> None:
        """The frame has a new document."""
        self._ids.pop(frame_id, None)
        self._revealed.pop(frame_id, None)

    async def run(self, frame: Frame, function: str, arguments: Sequence[Any], timeout_s: float) -> Any:
        """Call a JavaScript function and return its JSON value, awaited if it is a promise."""
        call = f"({function})({','.join(orjson.dumps(argument).decode() for argument in arguments)})"
        return _value(await self._evaluate(frame, call, {"awaitPromise": True, "returnByValue": True}, timeout_s))

    async def run_on(self, frame: Frame, object_id: str, function: str, arguments: Sequence[Any]) -> Any:
        """The same with `this` = an object that was resolved here."""
        request = {
            "objectId": object_id,
            "functionDeclaration": function,
            "arguments": [{"value": argument} for argument in arguments],
            "returnByValue": True,
            "awaitPromise": True,
        }
        return _value(await self._send("Runtime.callFunctionOn", request, TIMEOUT_S, frame))

    async def resolve(self, frame: Frame, backend_id: int) -> str:
        """The DOM node with this id, as an object."""
        for _ in range(2):
            known = self._ids.get(frame.id)
            world = await self._make(frame) if known is None else known
            request = {"backendNodeId": backend_id, "executionContextId": world}
            try:
                return (await self._send("DOM.resolveNode", request, TIMEOUT_S, frame))["object"]["objectId"]
            except RefusedError:
                self.forget(frame.id)
                if known is None:
                    raise
        raise AssertionError("unreachable")

    async def resolve_mark(self, frame: Frame, index: int) -> str:
        """The element that `marks.js` found there at this index, as an object."""
        answer = await self._evaluate(frame, f"{NAME}.marks[{index}]", {}, TIMEOUT_S)
        if "objectId" not in answer["result"]:
            raise RefusedError("the marked element is gone")
        return answer["result"]["objectId"]

    async def reveal(self, frame: Frame, nodes: Sequence[int]) -> bool:
        """Make the closed shadow roots around these nodes known to our scripts there; whether some of them are new."""
        known = self._revealed.get(frame.id, set())
        if not (new := [node for node in nodes if node not in known][:MAX_REVEALED]):
            return False
        if frame.id not in self._ids:
            await self._make(frame)
        await asyncio.gather(*(self._reveal_one(frame, node) for node in new))
        self._revealed.setdefault(frame.id, set()).update(new)
        return True

    async def _reveal_one(self, frame: Frame, node: int) -> None:
        with contextlib.suppress(RefusedError):  # it is gone by now
            request = {"objectId": await self.resolve(frame, node), "functionDeclaration": _REVEAL}
            await self._send("Runtime.callFunctionOn", request, TIMEOUT_S, frame)

    async def remembered(self, frame: Frame, name: str) -> list[str]:
        """What a script remembered there as the array `name`, as objects."""
        array = (await self._evaluate(frame, f"{NAME}.{name}", {}, TIMEOUT_S))["result"]
        request = {"objectId": array["objectId"], "ownProperties": True}
        entries = (await self._send("Runtime.getProperties", request, TIMEOUT_S, frame))["result"]
        found = {int(entry["name"]): entry["value"]["objectId"] for entry in entries if entry["name"].isdecimal()}
        return [found[index] for index in sorted(found)]

    async def _evaluate(self, frame: Frame, call: str, options: Params, timeout_s: float) -> Params:
        """Evaluate in the world that is known from the last call, or in a new one."""
        if (world := self._ids.get(frame.id)) is not None:
            guarded = f"typeof {NAME} === 'undefined' ? {orjson.dumps(_STALE).decode()} : {call}"
            with contextlib.suppress(_NoWorldError):
                return await self._evaluate_in(frame, world, guarded, options, timeout_s)
            self.forget(frame.id)
        world = await self._make(frame)
        try:
            return await self._evaluate_in(frame, world, call, options, timeout_s)
        except _NoWorldError as error:
            raise RefusedError(str(error)) from None

    async def _evaluate_in(self, frame: Frame, world: int, call: str, options: Params, timeout_s: float) -> Params:
        request = {"expression": call, "contextId": world, **options}
        try:
            answer = await self._send("Runtime.evaluate", request, timeout_s, frame)
        except RefusedError as error:
            if "Cannot find context" in str(error):
                raise _NoWorldError(str(error)) from None
            raise
        if answer["result"].get("value") == _STALE:
            raise _NoWorldError("the document was replaced")
        return answer

    async def _make(self, frame: Frame) -> int:
        """The world of the frame's present document."""
        request = {"frameId": frame.id, "worldName": NAME}
        world = (await self._send("Page.createIsolatedWorld", request, TIMEOUT_S, frame))["executionContextId"]
        mark = {"expression": SHARED, "contextId": world}
        await self._send("Runtime.evaluate", mark, TIMEOUT_S, frame)
        self._ids[frame.id] = world
        return world


class _NoWorldError(Exception):
    """The remembered world is not there any more."""


def _value(answer: Params) -> Any:
    if "exceptionDetails" in answer:
        raise RefusedError(answer["exceptionDetails"].get("text", "exception"))
    return answer["result"].get("value")

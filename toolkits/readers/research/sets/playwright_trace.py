"""Playwright's traces (`context.tracing.stop(path="trace.zip")`, with screenshots), as episodes.

Layout: packages/trace/src/trace.ts of microsoft/playwright. A zip holds `*.trace`, events as JSON lines, and the frames
of the screencast in `resources/`, named by their `sha1`. A call (`before`) was made on the last frame before it; where
the mouse was, its `input` or `after` event tells. What calls only ask or wait for is no action. Nothing is unpacked.
"""

import bisect
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import parse_json
from common.safe_pickle import ZIP_DAMAGE
from data.actions.action import GoBack
from data.actions.point_action import AnyAction, Button, ClickAt, GoTo, HoverAt, ScrollAt, Write
from data.actions.screen import Point, Scale, Screen
from toolkits.readers.reading.steps import NoImageError, objects_in, text_of
from toolkits.readers.research.episodes import (
    Episode,
    EpisodeStep,
    UnsaidError,
    if_whole,
    number,
    point_at,
    pressed,
    size_told,
    step_of,
    words,
)

_LARGEST = 128 * 2**20  # bytes of a member, unpacked
_MOST_FRAMES = 200_000
_ACTS = frozenset(
    "click dblclick tap check uncheck hover fill type press selectOption goto goBack mouseClick mouseMove mouseWheel "
    "keyboardType keyboardInsertText keyboardPress dragAndDrop setInputFiles goForward reload mouseDown mouseUp "
    "keyboardDown keyboardUp".split()
)
_TOLD = ("context-options", "screencast-frame", "before", "input", "after")
"""Types of events that tell of actions: the others, such as snapshots of the page, are most of a trace."""
Call = Mapping[str, Any]


def read_playwright_trace(paths: Sequence[Path], image_dir: Path) -> Iterator[Episode]:
    """An episode for every zip; its task is the trace's title, or the file's name.

    Raises:
        UserError: naming file and event.
    """
    for path in paths:
        try:
            with zipfile.ZipFile(path) as archive:
                yield if_whole(str(path), _Trace(path, archive).episode)
        except FileNotFoundError:
            raise UserError(f"{path}: no such file") from None
        except UserError:
            raise
        except ZIP_DAMAGE as error:
            raise UserError(f"{path}: not a zip of a trace, or damaged ({type(error).__name__})") from None


class _Trace:
    """What one zip tells, in order."""

    def __init__(self, path: Path, archive: zipfile.ZipFile):
        self.path, self._archive = path, archive
        self._members = {entry.filename: entry for entry in archive.infolist()}
        self._last: tuple[str, Point | None] = ("", None)  # the selector that a call acted on last, and where that was
        traces = sorted(name for name in self._members if name.endswith(".trace"))
        events = [event for name in traces for event in self._events(name)]
        self._failed = {text_of(one.get("callId")) for one in events if one.get("type") == "after" and one.get("error")}
        places = ((text_of(one.get("callId")), one["point"]) for one in events if isinstance(one.get("point"), dict))
        self._places = dict(places)
        self._context = next((one for one in events if one.get("type") == "context-options"), {})
        self._frames = sorted(
            (one for one in events if one.get("type") == "screencast-frame"), key=lambda one: _time(one, "timestamp")
        )[:_MOST_FRAMES]
        self._times = [_time(one, "timestamp") for one in self._frames]
        self._calls = [one for one in events if one.get("type") == "before" and one.get("method") in _ACTS]

    def episode(self) -> Episode:
        self._calls.sort(key=lambda one: _time(one, "startTime"))
        first = next((text_of(_params(one).get("url")) for one in self._calls if one["method"] == "goto"), "")
        steps = [step for count, call in enumerate(self._calls, start=1) if (step := self._step(count, call, first))]
        ques = text_of(self._context.get("title")) or self.path.stem
        return Episode(str(self.path), ques, first or "unknown", steps, None)

    def _step(self, count: int, call: Call, first: str) -> EpisodeStep | None:
        where = f"{self.path}: call {count}"
        before = bisect.bisect_right(self._times, _time(call, "startTime"))
        if not before and call["method"] == "goto" and _params(call).get("url") == first:
            return None  # where the task begins
        if not self._frames:
            raise NoImageError(f"{self.path}: holds no frames; record it with screenshots=True")
        frame = self._frames[max(0, before - 1)]
        size = size_told(frame.get("width"), frame.get("height"))
        if size is None:
            raise UserError(f"{where}: its frame has no size")
        scale = Scale("px_css", lambda screen: size)
        said = text_of(call.get("apiName")) or text_of(call.get("method"))
        thought = f"{said} {text_of(_params(call).get('selector'))}".strip()
        act = lambda screen: self._actions(call, scale, screen)  # noqa: E731 - of this call
        return step_of(where, self._resource(where, frame), act, scale=scale, thought=thought)

    def _actions(self, call: Call, scale: Scale, screen: Screen) -> list[AnyAction]:
        method, params, name = call["method"], _params(call), text_of(call.get("callId"))
        if name in self._failed:
            raise UnsaidError(f"{method} that failed")
        selector = text_of(params.get("selector"))
        place = self._places.get(name)
        at = point_at(scale, screen, place["x"], place["y"]) if place else None
        if at is None and method.startswith("mouse") and "x" in params:
            at = point_at(scale, screen, params["x"], params["y"])
        is_again = selector == self._last[0]  # it is where it was, and has the focus
        at = at or (self._last[1] if selector and is_again else None)
        self._last = selector, at
        match method:
            case "click" | "dblclick" | "tap" | "check" | "uncheck" | "mouseClick" if at:
                count = 2 if method == "dblclick" else number(params.get("clickCount", 1))
                if params.get("modifiers") or count not in (1, 2, 3):
                    raise UnsaidError(f"{method} with other keys or counts")
                return [ClickAt(at, _BUTTONS.get(params.get("button"), "left"), int(count))]
            case "hover" | "mouseMove" if at:
                return [HoverAt(at)]
            case "fill" if at:
                return [Write(words(params["value"]), at, replace=True)]
            case "selectOption" if at:
                [option] = objects_in("options", params["options"])
                return [Write(next(text for key in _OPTION if (text := text_of(option.get(key)))), at)]
            case "type" | "keyboardType" | "keyboardInsertText" if at or not selector:
                return [Write(words(params["text"]), at)]
            case "press" | "keyboardPress" if not selector or (is_again and at):
                return [pressed(words(params["key"]).split("+") if params["key"] != "+" else ["+"])]
            case "mouseWheel":
                return [ScrollAt(number(params.get("deltaX", 0)), number(params.get("deltaY", 0)))]
            case "goto":
                return [GoTo(words(params["url"]))]
            case "goBack":
                return [GoBack()]
            case _:
                raise UnsaidError(f"{method} at a place that is not told" if selector else method)

    def _events(self, name: str) -> Iterator[dict[str, Any]]:
        for count, line in enumerate(self._read(name).splitlines(), start=1):
            try:
                event = parse_json(line)
            except ValueError:
                raise UserError(f"{self.path}: {name}: line {count} is no JSON") from None
            if isinstance(event, dict) and event.get("type") in _TOLD:
                yield event

    def _resource(self, where: str, frame: Mapping[str, Any]) -> bytes:
        name = f"resources/{text_of(frame.get('sha1'))}"
        if name not in self._members:
            raise NoImageError(f"{where}: its frame {json.dumps(name)[:100]} is not in the zip")
        return self._read(name)

    def _read(self, name: str) -> bytes:
        if self._members[name].file_size > _LARGEST:
            raise UserError(f"{self.path}: {name[:100]!r} unpacks to more than {_LARGEST >> 20} MB")
        with self._archive.open(name) as member:
            content = member.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise UserError(f"{self.path}: {name[:100]!r} unpacks to more than {_LARGEST >> 20} MB")
        return content


_BUTTONS: Mapping[str | None, Button] = {"right": "right", "middle": "middle"}
_OPTION = ("valueOrLabel", "label", "value")


def _params(call: Call) -> Mapping[str, Any]:
    found = call.get("params")
    return found if isinstance(found, dict) else {}


def _time(event: Mapping[str, Any], name: str) -> float:
    value = event.get(name)
    return value if type(value) is int or type(value) is float else 0.0

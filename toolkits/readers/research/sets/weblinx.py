"""WebLINX (McGill-NLP/WebLINX on Hugging Face: a folder a demonstration), as episodes.

Layout: `weblinx/__init__.py` of McGill-NLP/weblinx. `replay.json` holds the turns, `screenshots/`, `pages/` (HTML) and
`bboxes/` what they were made on; points and boxes count pixels of the viewport. What the person asked until the first
action is the task, and what was said later is feedback; the navigator's last word is the answer. The elements that can
be used, and the one that was, are numbered.
"""

import collections
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_json, read_object
from data.actions.action import Answer
from data.actions.point_action import AnyAction, ClickAt, CloseTab, GoTo, HoverAt, OpenTab, ScrollAt, Write
from data.actions.screen import Point, Scale, Screen
from toolkits.readers.reading.steps import NoImageError, find_image, objects_in, text_of
from toolkits.readers.research.encodings.html_elements import elements_of, tree_of
from toolkits.readers.research.episodes import (
    Episode,
    EpisodeStep,
    NoTaskError,
    UnsaidError,
    if_whole,
    number,
    point_at,
    screen_of,
    size_told,
    step_of,
    words,
)

_KEY = "data-webtasks-id"
_USABLE = frozenset("link button textbox combobox checkbox radio option tab menuitem searchbox switch".split())
Turn = Mapping[str, Any]


def read_weblinx(paths: Sequence[Path], image_dir: Path) -> Iterator[Episode]:
    """An episode for every folder, or file `replay.json` in one, also of a folder of such folders.

    Raises:
        UserError: naming file and turn.
    """
    for path in paths:
        folder = path.parent if path.name == "replay.json" else path
        found = sorted(one.parent for one in folder.glob("*/replay.json"))
        for one in [folder] if (folder / "replay.json").exists() or not found else found:
            yield if_whole(str(one), lambda one=one: _Demonstration(one).episode())


class _Demonstration:
    def __init__(self, folder: Path):
        self.folder, self.where = folder, folder / "replay.json"
        self.turns = objects_in(f"{self.where}: data", read_object(self.where).get("data"))
        self._scrolled, self._url = (0.0, 0.0), ""  # how far, of which page
        self._lost = collections.Counter[str]()

    def episode(self) -> Episode:
        asked: list[str] = []
        told: list[str] = []
        steps: list[EpisodeStep] = []
        last, lost = "", self._lost
        for count, turn in enumerate(self.turns, start=1):
            where, said = f"{self.where}: turn {count}", text_of(turn.get("utterance")).strip()
            if turn.get("type") == "chat" and turn.get("speaker") == "navigator":
                lost["words of the navigator before the end"] += bool(said and last)
                last = said or last
            elif turn.get("type") == "chat":
                (told if steps else asked).append(said)
            elif _object(turn, "state").get("screenshot"):
                steps.append(self._step(where, turn, "\n".join(told)))
                lost["words of the navigator before the end"] += bool(last)
                told, last = [], ""
            else:
                lost["turns without a screenshot"] += 1
        if last and steps:
            end = dataclasses.replace(steps[-1], actions=(Answer(last),), element=None, unsaid="", thought="")
            steps.append(dataclasses.replace(end, feedback="\n".join(told)))
        first = next((step.url for step in steps if step.url), "") or "unknown"
        if not any(asked):
            raise NoTaskError(f"{self.where}: nobody asks for anything")
        return Episode(str(self.where), "\n".join(filter(None, asked)), first, steps, lost=lost)

    def _step(self, where: str, turn: Turn, told: str) -> EpisodeStep:
        state, arguments = _object(turn, "state"), _object(_object(turn, "action"), "arguments")
        metadata, element = _object(arguments, "metadata"), _object(arguments, "element")
        image = self._file(where, "screenshots", state.get("screenshot"))
        screen = screen_of(where, image)
        size = size_told(metadata.get("viewportWidth"), metadata.get("viewportHeight")) or screen.screenshot
        scale = Scale("px_css", lambda _: size)
        page = text_of(state.get("page"))
        html = self._html(where, page)
        target = text_of(_object(element, "attributes").get(_KEY))
        boxes = self._boxes(page, size)
        elements = [one for one in elements_of(html, list(boxes), _KEY) if one.role in _USABLE or one.node == target]
        labels = {one.node: label for label, one in enumerate(elements, start=2)}
        ratios = [pixels / units for pixels, units in zip(screen.screenshot, size, strict=True)] * 2
        return step_of(
            *(where, image, lambda screen: self._actions(turn, scale, screen)),
            scale=scale,
            tree=tree_of(text_of(metadata.get("url")), elements),
            boxes={
                labels[node]: [a * b for a, b in zip(box, ratios, strict=True)]
                for node, box in boxes.items()
                if node in labels
            },
            element=labels.get(target),
            url=text_of(metadata.get("url")),
            html=html,
            feedback=told,
        )

    def _file(self, where: str, kind: str, name: Any) -> Path:
        return self.folder / kind / find_image(where, self.folder / kind, text_of(name))

    def _html(self, where: str, page: str) -> str:
        """Who fetches the screenshots alone has none."""
        try:
            return self._file(where, "pages", page).read_text(encoding="utf-8", errors="replace") if page else ""
        except NoImageError:
            self._lost["pages that are not there"] += 1
            return ""

    def _boxes(self, page: str, size: Sequence[int]) -> dict[str, list[float]]:
        """Of what the viewport shows, by id: [x, y, width, height] in its pixels."""
        path = self.folder / "bboxes" / f"bboxes-{page.removeprefix('page-').partition('-')[0]}.json"
        if not page or not path.is_file() or path.is_symlink():
            return {}
        found = {}
        for node, sides in _mapping(path, read_json(path)).items():
            try:
                x, y, width, height = (number(sides[name]) for name in ("x", "y", "width", "height"))
            except (KeyError, TypeError):
                raise UserError(f"{path}: the box of {node[:40]!r} is not four numbers") from None
            if width > 0 and height > 0 and x < size[0] and y < size[1] and x + width > 0 and y + height > 0:
                found[node] = [x, y, width, height]
        return found

    def _actions(self, turn: Turn, scale: Scale, screen: Screen) -> list[AnyAction]:
        action = _object(turn, "action")
        kind, given = text_of(action.get("intent")).lower(), _object(action, "arguments")
        metadata = _object(given, "metadata")
        if (url := text_of(metadata.get("url"))) != self._url:
            self._scrolled, self._url = (0.0, 0.0), url

        def in_box() -> Point:
            if not _object(given, "element"):
                raise UnsaidError(f"{kind} at a place that is not told")
            box = _object(_object(given, "element"), "bbox")
            sides = (number(box["x"]) + number(box["width"]) / 2, number(box["y"]) + number(box["height"]) / 2)
            return point_at(scale, screen, *sides)

        def at() -> Point:
            told = "mouseX" in metadata and "mouseY" in metadata
            return point_at(scale, screen, metadata["mouseX"], metadata["mouseY"]) if told else in_box()

        match kind:
            case "click":
                return [ClickAt(at())]
            case "hover":
                return [HoverAt(at())]
            case "textinput":
                return [Write(words(given["text"]), in_box(), replace=True)]
            case "change":
                return [Write(words(given["value"]), in_box())]
            case "load":
                properties = _object(given, "properties")
                if properties.get("transitionType") in ("link", "form_submit"):
                    raise UnsaidError("load that a click brought about")
                return [GoTo(words(properties.get("url") or given.get("url")))]
            case "tabcreate":
                return [OpenTab()]
            case "tabremove":
                return [CloseTab()]
            case "scroll":
                before, self._scrolled = self._scrolled, (number(given["scrollX"]), number(given["scrollY"]))
                right, down = (now - then for now, then in zip(self._scrolled, before, strict=True))
                if not right and not down:
                    raise UnsaidError("scroll that moves nothing")
                return [ScrollAt(right, 0) if abs(right) > abs(down) else ScrollAt(0, down)]
            case _:
                raise UnsaidError(kind)


def _object(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _mapping(path: Path, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UserError(f"{path}: not boxes by id")
    return value

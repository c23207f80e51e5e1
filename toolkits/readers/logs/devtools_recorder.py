"""Recordings of Chrome's DevTools Recorder (JSON, a user flow each), as trajectory folders.

Layout: puppeteer/replay `src/Schema.ts`. A flow has `title` and `steps`: what was clicked and typed, by selectors. It
has neither pictures nor places, so a blank picture stands for each, and of the page the one element that the step is
on: its `aria/` or `text/` selector, else the first. Actions are by number, as those of `webvoyager`. Steps that no
action says, such as other keys than ENTER, are counted; windows and waits are none, and expressions are never run.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_object
from data.action_spaces import NUMBERS, action_space
from data.actions.action import Action, Click, Scroll, Type
from data.actions.point_action import ActionRecord
from data.actions.screen import PX, Screen
from toolkits.readers.reading.folders import ForeignStep, ForeignTrajectory, Tries, write_folder
from toolkits.readers.reading.left_out import LeftOut
from toolkits.readers.reading.steps import objects_in, text_of

_ELEMENT = 2
_ROLES = {"click": "button", "change": "textbox"}
_ROLE = re.compile(r'\[role="(\w{1,30})"\]')
_SCREEN = Screen((16, 16), (16, 16))  # of the blank picture
_NO_STEPS = ("setViewport", "navigate", "keyUp", "waitForElement", "waitForExpression", "emulateNetworkConditions")


def import_devtools_recorder(path: Path, image_dir: Path, out_dir: Path, tries: Tries) -> None:
    """Write the folder of one recording.

    Raises:
        UserError: naming file and step.
    """
    flow, left_out = read_object(path), LeftOut()
    steps = _Flow(str(path), objects_in(f"{path}: its steps", flow.get("steps")), left_out).read()
    ques = text_of(flow.get("title")).strip() or path.stem
    web = next((text_of(one.get("url")) for one in flow["steps"] if one.get("type") == "navigate"), "") or "unknown"
    task, run = tries.add("devtools_recorder", ques, web)
    left_out.tell(path)
    write_folder(str(path), out_dir, ForeignTrajectory(task, run, "DevTools Recorder", steps, ""))


@dataclasses.dataclass
class _Flow:
    """One recording, step by step."""

    where: str
    entries: Sequence[Mapping[str, Any]]
    left_out: LeftOut
    url: str = ""
    scrolled: float = 0.0

    def read(self) -> list[ForeignStep]:
        """What was clicked, typed or scrolled. A click into a field that is typed into next is one action with it, and
        ENTER follows what is typed by the grammar of the action space."""
        found: list[ForeignStep] = []
        for place, entry in enumerate(self.entries):
            later = self.entries[place + 1] if place + 1 < len(self.entries) else {}
            element = _element(entry)
            is_before_typing = entry.get("type") == "click" and later.get("type") == "change"
            if is_before_typing and element[1] == _element(later)[1]:
                continue
            action = self._action(f"{self.where}: step {place + 1}", entry, place)
            if action is not None:
                found.append(_step(action, *element, self.url))
        return found

    def _action(self, where: str, entry: Mapping[str, Any], place: int) -> Action | None:
        match text_of(entry.get("type")):
            case "click" if entry.get("button") in (None, "primary"):
                return Click(_ELEMENT)
            case "change":
                if not isinstance(entry.get("value"), str):
                    raise UserError(f"{where}: a change without its value")
                return Type(_ELEMENT, entry["value"])
            case "scroll":
                before, self.scrolled = self.scrolled, _number(where, entry.get("y", 0))
                return Scroll(None, "down" if self.scrolled >= before else "up")
            case "navigate":
                url = text_of(entry.get("url"))
                self.left_out["addresses that were opened later"] += bool(self.url)
                self.url, self.scrolled = url or self.url, 0.0
            case "keyDown" if entry.get("key") in ("Enter", "NumpadEnter") and self._is_typed_before(place):
                pass  # which the action space presses
            case "":
                raise UserError(f"{where}: has no type")
            case kind if kind in _NO_STEPS:
                pass
            case kind:
                self.left_out[f"steps of {kind:.30}"] += 1
        return None

    def _is_typed_before(self, place: int) -> bool:
        before = (one for one in reversed(self.entries[:place]) if one.get("type") != "keyUp")
        return next(before, {}).get("type") == "change"


def _step(action: Action, role: str, name: str, url: str) -> ForeignStep:
    space = action_space(NUMBERS)
    shown = not isinstance(action, Scroll)
    tree = f"[1] RootWebArea {url!r}" + (f"\n\t[{_ELEMENT}] {role} {name!r}" if shown else "")
    record = ActionRecord.of("devtools_recorder", PX, _SCREEN, action)
    return ForeignStep(tree, space.render("", [action], _SCREEN), None, url, actions=[dataclasses.asdict(record)])


def _element(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Role and name, by the selector that says most to people."""
    found = entry.get("selectors")
    listed = [one[-1] if isinstance(one, list) and one else one for one in found] if isinstance(found, list) else []
    texts = [one for one in listed if isinstance(one, str)]
    role = _ROLES.get(text_of(entry.get("type")), "generic")
    for kind in ("aria/", "text/"):
        for text in texts:
            if text.startswith(kind):
                told = _ROLE.search(text)
                return told[1] if told else role, _ROLE.sub("", text.removeprefix(kind)).strip()
    return role, texts[0] if texts else ""


def _number(where: str, value: Any) -> float:
    if type(value) not in (int, float) or not abs(value) < 1e9:
        raise UserError(f"{where}: scrolls by no number")
    return value

"""Logs of OpenAI's computer use (items of its Responses API: a JSON list, JSON lines, or whole responses), as folders.

A `computer_call` is a step; it was made on the screenshot of the `computer_call_output` before it. Its action becomes a
reply of the action space `qwen_computer_use`, so that convert_action_space.py can say it in any other; one that this
space has no words for stays JSON. Calls before the first screenshot (which ask for it) are left out.
"""

import base64
import binascii
import dataclasses
import io
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_records
from data.action_spaces import action_space
from data.action_spaces.space import CannotRenderError
from data.actions.action import ActionError, Answer, GoBack, Wait
from data.actions.keys import press
from data.actions.point_action import ActionRecord, AnyAction, Button, ClickAt, DragAt, HoverAt, ScrollAt, Write
from data.actions.screen import Point, Screen, screen_text
from data.images import opened
from toolkits.readers.reading.folders import ForeignStep, ForeignTrajectory, Tries, write_folder
from toolkits.readers.reading.steps import text_of

_SPACE = action_space("qwen_computer_use")
_BUTTONS: dict[str, Button] = {"left": "left", "right": "right", "wheel": "middle", "middle": "middle"}
_LISTS = ("items", "output", "input", "messages", "conversation")


def import_openai_cua(path: Path, image_dir: Path, out_dir: Path, tries: Tries) -> None:
    """Write the folder of one log.

    Raises:
        UserError: naming file and item.
    """
    items = [item for where, value in read_records(path) for item in _items(where, value)]
    steps: list[ForeignStep] = []
    ques, thought, answer, image, url = "", "", None, None, ""
    for number, item in enumerate(items, start=1):
        where, kind = f"{path}: item {number}", text_of(item.get("type")) or "message"
        if kind == "reasoning":
            thought = _texts(item.get("summary"))
        elif kind == "computer_call" and image is not None:
            for action in _actions(where, item):
                steps.append(_step(where, thought, action, image, url))
            thought = ""
        elif kind == "computer_call_output":
            image, url = _image(where, item), _address(item) or url
        elif kind == "message":
            said = _texts(item.get("content"))
            if item.get("role") == "assistant":
                answer = said or answer
            elif item.get("role") == "user" and not ques:
                ques = said
    if answer is not None and steps and image is not None:
        screen = _screen(str(path), image)
        reply = _SPACE.render(thought or "The task is done.", [Answer(answer)], screen)
        steps.append(_shown(ForeignStep("", reply, image, url), screen))
    task, run = tries.add("cua", ques or path.stem, next((step.url for step in steps if step.url), "") or "unknown")
    write_folder(str(path), out_dir, ForeignTrajectory(task, run, "OpenAI CUA", steps, answer, space=_SPACE.name))


def _items(where: str, value: Any) -> Iterator[dict[str, Any]]:
    """Those of a response, or the item itself."""
    if not isinstance(value, dict):
        raise UserError(f"{where}: not an item of a response")
    inner = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), None)
    if inner is None or text_of(value.get("type")).startswith("computer_call"):
        yield value
    else:
        yield from (item for item in inner if isinstance(item, dict))


def _texts(content: Any) -> str:
    """Of a message, a text or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(filter(None, (text_of(part.get("text")) for part in parts if isinstance(part, dict))))


def _actions(where: str, item: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One, or in newer logs several."""
    found: list[Any] = item["actions"] if isinstance(item.get("actions"), list) else [item.get("action")]
    if not found or not all(isinstance(action, dict) for action in found):
        raise UserError(f"{where}: a computer_call without an action")
    return found


def _image(where: str, item: Mapping[str, Any]) -> bytes:
    output = item.get("output")
    encoded = text_of(output.get("image_url")) if isinstance(output, dict) else ""
    try:
        image = base64.b64decode(encoded.partition("base64,")[2], validate=True)
        if image:
            return image
    except (binascii.Error, ValueError):
        pass
    raise UserError(f"{where}: its output holds no screenshot as base64; logs that name stored files are not read")


def _address(item: Mapping[str, Any]) -> str:
    """Some loops note it beside the screenshot."""
    output = item.get("output")
    return text_of(item.get("current_url")) or (text_of(output.get("current_url")) if isinstance(output, dict) else "")


def _screen(where: str, image: bytes) -> Screen:
    """The coordinates are pixels of the screenshot."""
    try:
        with opened(io.BytesIO(image)) as picture:
            return Screen(picture.size, picture.size)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None


def _step(where: str, thought: str, action: Mapping[str, Any], image: bytes, url: str) -> ForeignStep:
    screen = _screen(where, image)
    try:
        kind = _KINDS.get(text_of(action.get("type")))
        reply = _SPACE.render(thought, [kind(action)], screen) if kind else ""
    except (ActionError, CannotRenderError):
        reply = ""
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise UserError(f"{where}: an action without its numbers or text ({type(error).__name__})") from None
    return _shown(ForeignStep("", reply or f"{thought}\n{json.dumps(action)}".strip(), image, url), screen)


def _shown(step: ForeignStep, screen: Screen) -> ForeignStep:
    """With what an agent at points reads of a page, and what it did there."""
    assert _SPACE.scale is not None
    try:
        actions = _SPACE.parse(step.reply, screen).actions
    except ActionError:
        actions = ()
    records = [dataclasses.asdict(ActionRecord.of(_SPACE.name, _SPACE.scale, screen, action)) for action in actions]
    return dataclasses.replace(step, shown=screen_text((f"0, in front: {step.url}",)), actions=records)


def _point(action: Mapping[str, Any]) -> Point:
    return Point(float(action["x"]), float(action["y"]))


def _click(action: Mapping[str, Any]) -> AnyAction:
    button = text_of(action.get("button")) or "left"
    if button == "back":
        return GoBack()
    if button not in _BUTTONS:
        raise CannotRenderError(button)
    return ClickAt(_point(action), _BUTTONS[button])


def _drag(action: Mapping[str, Any]) -> AnyAction:
    ends = (action["path"][0], action["path"][-1])
    return DragAt(*(_point(end if isinstance(end, dict) else dict(zip("xy", end, strict=True))) for end in ends))


_KINDS: dict[str, Callable[[Mapping[str, Any]], AnyAction]] = {
    "click": _click,
    "double_click": lambda action: ClickAt(_point(action), count=2),
    "move": lambda action: HoverAt(_point(action)),
    "drag": _drag,
    "scroll": lambda action: ScrollAt(float(action["scroll_x"]), float(action["scroll_y"]), _point(action)),
    "type": lambda action: Write(str(action["text"])),
    "keypress": lambda action: press([str(key) for key in action["keys"]]),
    "wait": lambda _: Wait(),
    "screenshot": lambda _: Wait(),
}

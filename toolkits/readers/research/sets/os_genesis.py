"""OS-Genesis' training data (JSON lines, a step each), as episodes: its web part by numbers, its mobile part at points.

    web      OS-Copilot/OS-Genesis-web-data: the reply ends in "In summary, the next action I will perform is
             ```click [12]```", in WebArena's grammar; the numbers are those of the accessibility tree in the prompt
    mobile   OS-Copilot/OS-Genesis-mobile-data: the reply ends in `action: {"action_type": "click", "x": 540, ...}`, in
             pixels, as AndroidControl has them

A record is `image` and `conversations`, whose prompt says `Instruction:` or `High-level instruction:`, and then
`Action history:` and `Accessibility tree:`. Layouts: OS-Copilot/OS-Genesis `evaluation/android_control/ac_eval.py`,
`evaluation/android_world/genesis_agents.py`. Records that follow each other with the same instruction are one episode;
an empty history begins another.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import parse_json
from data.actions.action import Answer, Click, GoBack, Type
from data.actions.point_action import AnyAction, CloseTab, GoTo, OpenTab, SelectTab
from data.actions.screen import PX, Screen
from data.conversation import IMAGE
from toolkits.readers.reading.steps import find_image, objects_in, text_of
from toolkits.readers.reading.stream import stream_objects
from toolkits.readers.research.episodes import (
    Episode,
    EpisodeStep,
    UnsaidError,
    if_whole,
    pressed,
    scroll_towards,
    step_of,
)
from toolkits.readers.research.sets.android_control import android_actions

_ASKED = re.compile(r"^(?:High-level instruction|Low-level instruction|Instruction): *(.+?)(?=\n\n|\Z)", re.M | re.S)
_HISTORY = re.compile(r"^Action [Hh]istory: *(.*?)(?=\n\n|\Z)", re.M | re.S)
_TREE = re.compile(r"^Accessibility tree: *(.*?)(?=^Action [Hh]istory|^Please |\Z)", re.M | re.S)
_OF_MOBILE = re.compile(r"^[ \t]*actions?:\s*(?=\{)", re.M | re.I)
_CALL = re.compile(r"(\w+)(.*)", re.S)
_ARGUMENT = re.compile(r"\[(.*?)\](?=\s*(?:\[|\Z))", re.S)
_LONGEST_CALL = 5000  # characters
_OPENINGS, _ENDING = ("Low-level thought:", "Thought:"), "In summary, the next action I will perform is"
_NO_HISTORY = ("", "none", "[]")
_SCROLLED = 2 / 3  # of the screen; the set does not say how far


def read_os_genesis(paths: Sequence[Path], image_dir: Path) -> Iterator[Episode]:
    """An episode for every try of an instruction.

    Raises:
        UserError: naming file and record.
    """
    for path in paths:
        steps: list[Callable[[], EpisodeStep]] = []
        begun, asked = str(path), ""
        for where, record in stream_objects(path):
            prompt, reply = _turns(where, record)
            ques = _found(_ASKED, prompt)
            if not ques:
                raise UserError(f"{where}: its prompt says no instruction")
            history = _found(_HISTORY, prompt)
            is_first = history.lower() in _NO_HISTORY
            if steps and (is_first or ques != asked):
                yield if_whole(begun, partial(_episode, begun, asked, steps))
                steps = []
            if not steps:
                begun, asked = where, ques
            told = "" if steps or is_first else f"Action history: {history}"
            steps.append(partial(_step, where, record, image_dir, prompt, reply, told))
        if steps:
            yield if_whole(begun, partial(_episode, begun, asked, steps))


def _episode(where: str, ques: str, steps: Sequence[Callable[[], EpisodeStep]]) -> Episode:
    read = [step() for step in steps]
    return Episode(where, ques, "os_genesis", read, None)  # its reward model keeps what failed, too


def _turns(where: str, record: Mapping[str, Any]) -> tuple[str, str]:
    turns = objects_in(f"{where}: conversations", record.get("conversations"))
    said = [text_of(turn.get("value")) for turn in turns if turn.get("from") != "system"]
    if len(said) != 2:
        raise UserError(f"{where}: its conversations are not a prompt and a reply")
    return said[0].replace(IMAGE, "").strip(), said[1].strip()


def _found(pattern: re.Pattern[str], prompt: str) -> str:
    found = pattern.search(prompt)
    return found[1].strip() if found else ""


def _step(where: str, record: Mapping[str, Any], image_dir: Path, prompt: str, reply: str, told: str) -> EpisodeStep:
    image = image_dir / find_image(where, image_dir, text_of(record.get("image")))
    thought, of_web, of_mobile = _parts(reply)
    tree = _found(_TREE, prompt)

    def act(screen: Screen) -> list[AnyAction]:
        if of_web:
            return [_web_action(screen, of_web)]
        if of_mobile:
            return _mobile_actions(screen, of_mobile)
        raise UnsaidError("a reply without an action")

    return step_of(where, image, act, scale=PX, thought=thought, tree=tree, feedback=told)


def _parts(reply: str) -> tuple[str, str, str]:
    """The thought, and the action as the web part or as the mobile part has it."""
    ended = reply.rstrip(" .\n")
    head, mark, call = ended.removesuffix("```").rpartition("```")
    if mark and ended.endswith("```"):
        return _thought(head), call.strip(), ""
    found = list(_OF_MOBILE.finditer(reply))
    return (_thought(reply[: found[-1].start()]), "", reply[found[-1].end() :]) if found else ("", "", "")


def _thought(said: str) -> str:
    said = said.strip()
    for opening in _OPENINGS:
        said = said.removeprefix(opening).strip()
    return said.removesuffix(_ENDING).strip()


def _mobile_actions(screen: Screen, said: str) -> list[AnyAction]:
    action = parse_json(said)
    if action["action_type"] in ("status", "answer"):
        is_status = action["action_type"] == "status"
        status = {"successful": "success", "complete": "success", "infeasible": "failure"}
        return [Answer(status[action["goal_status"]] if is_status else str(action["text"]))]
    return android_actions(screen, action)


def _web_action(screen: Screen, said: str) -> AnyAction:
    if len(said) > _LONGEST_CALL:
        raise UnsaidError("an action of thousands of characters")
    call = _CALL.fullmatch(said)
    name, arguments = (call[1], _ARGUMENT.findall(call[2])) if call else ("", [])
    if name not in _WEB:
        raise UnsaidError(f"{name or said:.30}")
    return _WEB[name](screen, arguments)


def _typed(_: Screen, arguments: Sequence[str]) -> AnyAction:
    if arguments[2:] == ["0"]:
        raise UnsaidError("type without ENTER on a numbered element")
    return Type(int(arguments[0]), arguments[1])


_WEB: dict[str, Callable[[Screen, Sequence[str]], AnyAction]] = {
    "click": lambda _, arguments: Click(int(arguments[0])),
    "type": _typed,
    "press": lambda _, arguments: pressed(arguments[0].split("+")),
    "scroll": lambda screen, arguments: scroll_towards(screen, arguments[0].removeprefix("direction="), _SCROLLED),
    "goto": lambda _, arguments: GoTo(arguments[0]),
    "go_back": lambda *_: GoBack(),
    "new_tab": lambda *_: OpenTab(),
    "tab_focus": lambda _, arguments: SelectTab(int(arguments[0])),
    "close_tab": lambda *_: CloseTab(),
    "stop": lambda _, arguments: Answer(arguments[0] if arguments else ""),
}

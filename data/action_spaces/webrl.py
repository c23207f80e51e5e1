"""WebRL's actions: a line of Python on an element's id in simplified HTML; comments before it are what is thought.

Names of functions, actions and arguments are those that its models were trained on (arXiv 2411.02337).
"""

import ast
import json
import re
import warnings
from collections.abc import Iterator, Sequence

from data.action_spaces.space import ADVICE, ActionSpace, CannotRenderError, Parsed, writable
from data.actions.action import ActionError, Answer, Click, GoBack, Scroll, Type, Wait
from data.actions.point_action import AnyAction, Press, SelectTab, Write
from data.actions.screen import Screen
from data.actions.simplified_html import simplified_html

_PROMPT = """\
You browse the web to carry out a task for a person. Each turn shows you the page as it is now, as simplified HTML in \
which what you can use has an id{screenshot}. You answer with one line of code, and may write comments above it:
# Element: which element you use, and where it is
# Note: what you read on the page and will need later
do(action="Click", element="7")

The code is one of these:
- do(action="Click", element="id"): click the element.
- do(action="Type", argument="text", element="id"): replace the text of a field.
- do(action="Search", argument="text", element="id"): the same, then press ENTER.
- do(action="Select Dropdown Option", argument="text", element="id"): choose the option that reads so.
- do(action="Press Enter"), do(action="Scroll Down"), do(action="Scroll Up")
- do(action="Switch Tab", argument="0"): bring a tab to the front, by its number from 0.
- do(action="Wait"): give the page a few more seconds.
- go_backward(): return to the page before.
- exit(message="text"): end the task.

{advice}
"""
_CODE = re.compile(r"^[ \t]*(?:Action:\s*)?((?:do|exit|go_backward|go_forward)\(.*)", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*#\s*(?:Note:\s*)?(.*\S)", re.MULTILINE)
_PARAMETERS = {"do": ("action", "argument", "element"), "exit": ("message",), "go_backward": (), "go_forward": ()}
_FORM = 'Answer with one line of code, such as do(action="Click", element="7") or exit(message="text").'
_NUMBER = re.compile(r"[0-9]{1,6}")
_LONGEST = 20_000  # characters of a call


class WebRL(ActionSpace):
    """One call a reply; what follows it is left out."""

    name = "webrl"

    def prompt(self, view: str = "tree", restart: str = "Restart") -> str:
        return _PROMPT.format(screenshot="" if view == "text" else ", and a screenshot", advice=ADVICE)

    def page_text(self, tree: str) -> str:
        return simplified_html(tree)

    def parse(self, reply: str, screen: Screen | None = None) -> Parsed:
        code = _CODE.search(reply)
        if code is None:
            raise ActionError(f"Format error: the reply holds no call. {_FORM}")
        name, given = _call(code[1].strip())
        return Parsed(" ".join(_COMMENT.findall(reply[: code.start()])), tuple(_read(name, given)))

    def render(self, thought: str, actions: Sequence[AnyAction], screen: Screen | None = None) -> str:
        comment = f"# Note: {' '.join(thought.split())}\n" if thought.strip() else ""
        return comment + _written(list(actions))


def _call(code: str) -> tuple[str, dict[str, str]]:
    """The function's name and arguments; a text may hold line breaks."""
    for text in (code, code.split("\n", 1)[0], code.removesuffix("```").strip().replace("\n", "\\n")):
        try:
            with warnings.catch_warnings(action="ignore"):  # about backslashes in what a model writes
                call = ast.parse(text[:_LONGEST].strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in _PARAMETERS:
            names = _PARAMETERS[call.func.id]
            pairs = [*zip(names, call.args, strict=False), *((one.arg, one.value) for one in call.keywords if one.arg)]
            values = {name: part.value for name, part in pairs if name in names and isinstance(part, ast.Constant)}
            return call.func.id, {name: writable(str(value)) for name, value in values.items() if value is not None}
    raise ActionError(f"Format error: the call is not written as code is. {_FORM}")


def _read(name: str, given: dict[str, str]) -> Iterator[AnyAction]:
    action = given.get("action", "") if name == "do" else f"{name}()"

    def text() -> str:
        if "argument" not in given:
            raise ActionError(f'{action} takes a text, as argument="text".')
        return given["argument"]

    def label() -> int:
        if not _NUMBER.fullmatch(given.get("element", "")):
            raise ActionError(f'{action} takes an id of the HTML, as element="7".')
        return int(given["element"])

    match action:
        case "Click":
            yield Click(label())
        case "Type":
            yield from (Click(label()), Write(text(), replace=True))
        case "Search" | "Select Dropdown Option":
            yield Type(label(), text())
        case "Press Enter":
            yield Press(("Enter",))
        case "Scroll Down" | "Scroll Up":
            yield Scroll(None, action.removeprefix("Scroll ").lower())
        case "Switch Tab":
            if not _NUMBER.fullmatch(text()):
                raise ActionError('Switch Tab takes the number of a tab, as argument="1".')
            yield SelectTab(int(text()))
        case "Wait":
            yield Wait()
        case "go_backward()":
            yield GoBack()
        case "exit()":
            yield Answer(given.get("message", ""))
        case other:
            raise ActionError(f"{other[:40]!r} is not available here. {_FORM}")


def _written(actions: list[AnyAction]) -> str:
    match actions:
        case [Click(label)]:
            return _do("Click", element=label)
        case [Click(label), Write(content, None, True, False)]:
            return _do("Type", argument=content, element=label)
        case [Type(label, content)]:
            return _do("Search", argument=content, element=label)
        case [Press(("Enter",))]:
            return _do("Press Enter")
        case [Scroll(None, direction)]:
            return _do(f"Scroll {direction.capitalize()}")
        case [SelectTab(int(index))]:
            return _do("Switch Tab", argument=index)
        case [Wait()]:
            return _do("Wait")
        case [GoBack()]:
            return "go_backward()"
        case [Answer(content)]:
            return f"exit(message={_quoted(content)})"
        case _:
            raise CannotRenderError(f"webrl has no words for {', '.join(type(action).__name__ for action in actions)}")


def _do(action: str, **arguments: str | int) -> str:
    return f"do({', '.join(f'{name}={_quoted(value)}' for name, value in {'action': action, **arguments}.items())})"


def _quoted(value: str | int) -> str:
    return json.dumps(str(value), ensure_ascii=False)


SPACE = WebRL()

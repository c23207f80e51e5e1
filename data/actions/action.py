"""Action grammar: the one parser of what an agent replies (OpenWebVoyager's Thought/Action form and its seven actions).

Thought: ...

Action: Click [4] | Type [4]; text | Scroll [WINDOW]; down | Wait | GoBack | Restart | ANSWER; text

`Google` is WebVoyager's name of `Restart`. `Drag [4]; [7]` is an eighth that released models were not told of.
"""

import dataclasses
import re
from collections.abc import Callable

# The two sentences released models were trained to read after a reply that could not be used.
FORMAT_ERROR = "Format ERROR: Both 'Thought' and 'Action' should be included in your reply."
CANNOT_EXECUTE = (
    "The action you have chosen cannot be executed. Please double-check if you have selected the correct element "
    "or used correct action format. Then provide the revised Thought and Action."
)


class ActionError(ValueError):
    """A reply that cannot be used; `str(error)` is the feedback the agent reads next.

    `reason` is what else is true of it, for chat models; models trained on trajectories know the fixed sentences only.
    """

    def __init__(self, feedback: str, reason: str = ""):
        super().__init__(feedback)
        self.reason = reason


@dataclasses.dataclass(frozen=True)
class Click:
    """Click the element with this numerical label."""

    label: int


@dataclasses.dataclass(frozen=True)
class Type:
    """Replace the element's text by `content` and press ENTER; in a `<select>`, choose the option reading `content`."""

    label: int
    content: str


@dataclasses.dataclass(frozen=True)
class Scroll:
    """Scroll the element, or the window when `label` is None; `direction` is `up` or `down`."""

    label: int | None
    direction: str


@dataclasses.dataclass(frozen=True)
class Drag:
    """Drag the element with this label onto the one labeled `target`."""

    label: int
    target: int


@dataclasses.dataclass(frozen=True)
class Wait:
    """Do nothing for a while."""


@dataclasses.dataclass(frozen=True)
class GoBack:
    """One step back in the tab's history."""


@dataclasses.dataclass(frozen=True)
class Restart:
    """Go back to the start page."""


@dataclasses.dataclass(frozen=True)
class Answer:
    """End the task with this answer."""

    content: str


Action = Click | Type | Scroll | Drag | Wait | GoBack | Restart | Answer


@dataclasses.dataclass(frozen=True)
class Reply:
    """A parsed reply."""

    thought: str
    action: Action


_MARKER = re.compile(r"^[ \t]*Action:", re.MULTILINE)
_LABEL = r"\[?(\d{1,9})\]?"  # Python reads no number of 5,000 digits, and no page has that many elements
_GRAMMAR: list[tuple[re.Pattern[str], Callable[[re.Match[str]], Action]]] = [
    (re.compile(rf"Click {_LABEL}\.?"), lambda m: Click(int(m[1]))),
    (re.compile(rf"Type {_LABEL}[; ]\s*(.+)", re.DOTALL), lambda m: Type(int(m[1]), _unwrap(m[2]))),
    (
        re.compile(r"Scroll \[?(\d{1,9}|WINDOW)\]?[; ]\s*\[?(up|down)\]?\.?", re.IGNORECASE),
        lambda m: Scroll(None if m[1].upper() == "WINDOW" else int(m[1]), m[2].lower()),
    ),
    (re.compile(rf"Drag {_LABEL}[; ]\s*{_LABEL}\.?"), lambda m: Drag(int(m[1]), int(m[2]))),
    (re.compile(r"Wait\b.*"), lambda m: Wait()),
    (re.compile(r"GoBack\b.*"), lambda m: GoBack()),
    (re.compile(r"(?:Restart|Google)\b.*"), lambda m: Restart()),
    (re.compile(r"ANSWER[;: ]\s*(.+)", re.DOTALL), lambda m: Answer(_unwrap(m[1]))),
]


def parse_reply(text: str) -> Reply:
    """Split a reply into thought and action.

    The action is anchored: it starts right after the first line-initial `Action:` and must match the grammar as a
    whole, so words inside a thought or an answer are never taken for an action.

    Raises:
        ActionError: with `FORMAT_ERROR` when a part is missing, with `CANNOT_EXECUTE` when the action is none of
            these.
    """
    thought, marker, action = _split(text)
    if not marker:
        raise ActionError(FORMAT_ERROR)
    for pattern, build in _GRAMMAR:
        if match := pattern.fullmatch(action):
            return Reply(thought, build(match))
    raise ActionError(CANNOT_EXECUTE)


def action_text(reply: str) -> str:
    """In one line what follows `Action:`, whether it can be parsed or not, or all of the reply: for people."""
    match = _MARKER.search(reply)
    return " ".join((reply[match.end() :] if match else reply).split())


def thought_text(reply: str) -> str | None:
    """What stands between `Thought:`, which opens the reply, and `Action:`; None where it does not: for people."""
    head, found, body = reply.partition("Thought:")
    return _MARKER.split(body, maxsplit=1)[0].strip() if found and not head.strip() else None


def _split(text: str) -> tuple[str, str, str]:
    """(thought, "Action:", action); the marker is empty when the form is not kept."""
    head, found, body = text.partition("Thought:")
    if not found or "Action:" in head:
        return "", "", ""
    markers = list(_MARKER.finditer(body)) or list(re.finditer(r"\bAction:", body))
    if not markers:
        return "", "", ""
    first = markers[0]
    action = re.split(r"^[ \t]*(?:Thought|Action|Observation):", body[first.end() :], maxsplit=1, flags=re.MULTILINE)[0]
    return body[: first.start()].strip(), "Action:", action.strip()


def _unwrap(content: str) -> str:
    """`[text]` -> `text`: some models copy the brackets of the grammar; brackets inside the text stay."""
    content = content.strip()
    if content.startswith("[") and content.endswith("]") and _closes_at_end(content):
        content = content[1:-1].strip()
    return content


def _closes_at_end(content: str) -> bool:
    depth = 0
    for position, character in enumerate(content):
        depth += (character == "[") - (character == "]")
        if depth == 0:
            return position == len(content) - 1
    return False

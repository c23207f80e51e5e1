"""The keyboard: real key events, character by character."""

from collections.abc import Sequence

from data.actions.keys import MODIFIERS
from environments.browser.chromium.cdp import Params

ENTER = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
ARROW_LEFT = {"key": "ArrowLeft", "code": "ArrowLeft", "windowsVirtualKeyCode": 37}
ARROW_RIGHT = {"key": "ArrowRight", "code": "ArrowRight", "windowsVirtualKeyCode": 39}
_DELETE = {"key": "Delete", "code": "Delete", "windowsVirtualKeyCode": 46}

_CODES = {
    **{"Backspace": 8, "Tab": 9, "Escape": 27, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36, "ArrowLeft": 37},
    **{"ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Delete": 46},
    **{f"F{number}": 111 + number for number in range(1, 13)},
}
_COMMANDS = {"a": "selectAll", "c": "copy", "v": "paste", "x": "cut", "z": "undo", "y": "redo"}

Requests = list[tuple[str, Params]]


def keystrokes(text: str, lines: bool) -> Requests:
    """Key events of every character; an empty text only deletes the selection. Without `lines` a break is a space."""
    if not text:
        return press(_DELETE)
    presses = []
    for character in text:
        if character == "\n" and lines:
            presses += press(ENTER)
        else:
            presses += press({"key": character, "text": " " if character.isspace() else character})
    return presses


def chord(keys: Sequence[str]) -> Requests:
    """These keys held together, the last ones pressed while the modifiers are down, by DevTools' names."""
    held = [key for key in keys if key in MODIFIERS]
    modifiers = sum(MODIFIERS[key] for key in held)
    requests, released = [], []
    for key in held:
        requests.append(("Input.dispatchKeyEvent", {"type": "rawKeyDown", "key": key, "modifiers": modifiers}))
        released.append(("Input.dispatchKeyEvent", {"type": "keyUp", "key": key}))
    for key in keys:
        if key not in MODIFIERS:
            requests += [(method, {**params, "modifiers": modifiers}) for method, params in press(_key(key, modifiers))]
    return [*requests, *reversed(released)]


def _key(name: str, modifiers: int) -> Params:
    """A named key, or a character, which types nothing while a modifier but Shift is down."""
    if name == "Enter":
        return ENTER
    types = modifiers & ~MODIFIERS["Shift"] == 0
    if len(name) > 1:
        return {"key": name, "code": name, "windowsVirtualKeyCode": _CODES.get(name, 0)}
    command = _COMMANDS.get(name.lower(), "") if modifiers & (MODIFIERS["Control"] | MODIFIERS["Meta"]) else ""
    return {
        "key": name,
        "windowsVirtualKeyCode": ord(name.upper()) if name.isascii() else 0,
        **({"text": name} if types else {}),
        **({"commands": [command]} if command else {}),
    }


def press(key: Params) -> Requests:
    """One key, down and up."""
    down = {"type": "keyDown" if "text" in key else "rawKeyDown", **key}
    up = {name: value for name, value in key.items() if name != "text"}
    return [("Input.dispatchKeyEvent", down), ("Input.dispatchKeyEvent", {"type": "keyUp", **up})]

"""The keyboard: real key events, character by character."""

from environments.browser.cdp import Params

ENTER = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
ARROW_LEFT = {"key": "ArrowLeft", "code": "ArrowLeft", "windowsVirtualKeyCode": 37}
ARROW_RIGHT = {"key": "ArrowRight", "code": "ArrowRight", "windowsVirtualKeyCode": 39}
_DELETE = {"key": "Delete", "code": "Delete", "windowsVirtualKeyCode": 46}

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


def press(key: Params) -> Requests:
    """One key, down and up."""
    down = {"type": "keyDown" if "text" in key else "rawKeyDown", **key}
    up = {name: value for name, value in key.items() if name != "text"}
    return [("Input.dispatchKeyEvent", down), ("Input.dispatchKeyEvent", {"type": "keyUp", **up})]

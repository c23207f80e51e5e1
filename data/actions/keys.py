"""Keys: the names that models give them, as DevTools has them, and the shortcuts that a browser itself obeys."""

from collections.abc import Sequence

from data.actions.action import ActionError, GoBack, Restart
from data.actions.point_action import AnyAction, CloseTab, OpenTab, Press, SelectTab

MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}
_NAMES = {
    **{name.lower(): name for name in (*MODIFIERS, "Enter", "Tab", "Escape", "Backspace", "Delete", "Home", "End")},
    **{f"f{number}": f"F{number}" for number in range(1, 13)},
    **{way.lower(): f"Arrow{way}" for way in ("Left", "Up", "Right", "Down")},
    **{f"arrow{way.lower()}": f"Arrow{way}" for way in ("Left", "Up", "Right", "Down")},
    "ctrl": "Control",
    "cmd": "Meta",
    "command": "Meta",
    "win": "Meta",
    "option": "Alt",
    "return": "Enter",
    "esc": "Escape",
    "del": "Delete",
    "space": " ",
    "pageup": "PageUp",
    "page_up": "PageUp",
    "pagedown": "PageDown",
    "page_down": "PageDown",
}
_SHORTCUTS: dict[tuple[str, ...], AnyAction] = {
    ("Alt", "ArrowLeft"): GoBack(),
    ("Alt", "Home"): Restart(),
    ("Control", "t"): OpenTab(),
    ("Control", "w"): CloseTab(),
    ("Control", "Tab"): SelectTab(None),
}
_SHORTCUT_OF = {action: keys for keys, action in _SHORTCUTS.items()}


def press(names: Sequence[str]) -> AnyAction:
    """These keys together, or what the browser does at them: `ctrl t` opens a tab.

    Raises:
        ActionError: there is no such key.
    """
    keys = tuple(map(_named, names))
    if not keys:
        raise ActionError("There are no keys to press.")
    plain = tuple(key.lower() if len(key) == 1 else key for key in keys)  # people write Ctrl+T
    if plain in _SHORTCUTS:
        return _SHORTCUTS[plain]
    digits = keys[1] if len(keys) == 2 and keys[0] == "Control" else ""
    return SelectTab(int(digits) - 1) if digits in set("12345678") else Press(keys)


def shortcut(action: AnyAction) -> tuple[str, ...] | None:
    """The keys by which a browser does this, or None."""
    if isinstance(action, SelectTab) and action.index is not None:
        return ("Control", str(action.index + 1)) if action.index < 8 else None
    return _SHORTCUT_OF.get(action)


def short_names(keys: Sequence[str]) -> list[str]:
    """As models say them: `ctrl`, `enter`, `left`."""
    short = {"Control": "ctrl", "Escape": "esc", " ": "space"}
    return [short.get(key, key.removeprefix("Arrow").lower()) for key in keys]


def _named(name: str) -> str:
    if len(name) == 1 and name.isprintable():
        return name
    known = _NAMES.get(name.strip().lower().replace(" ", ""))
    if known is None:
        raise ActionError(f"There is no key {name[:20]!r}.")
    return known

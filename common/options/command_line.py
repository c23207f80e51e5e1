"""What is typed, as a value of a dataclass: `tyro`, but errors are one line, and each switch may be given both ways.

`--dry_run` and `--dry_run true` are the same, and so are `--sp` and `--sp true`, whatever the option's annotation is.
"""

import contextlib
import dataclasses
import difflib
import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import tyro

from common.errors import UserError
from common.options.fields import kinds_of
from common.options.switch import is_switch

STARTED_AS = "ELCANO_STARTED_AS"
"""The variable by which a console script names itself to the command that takes its place."""
_SCRIPT = os.environ.pop(STARTED_AS, "")  # not for the commands that this one starts

_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_CELL = re.compile(r"^[│|]\s(.*?)\s*[│|]$")
_RULE = re.compile(r"^─+$")
_COMMANDS = "Available subcommands"
_NO_NUMBER = re.compile(r"(?:invalid literal for int\(\) with base 10|could not convert string to float): (.*)")


def read(
    kind: Any,
    words: Sequence[str],
    program: str | None = None,
    description: str | None = None,
    hint: str = "--help says what there is",
) -> Any:
    """`words` as a value of `kind`, by flags with underscores; ends the program where help is asked for. `hint` ends an
    error that has nothing nearer to offer.

    Raises:
        UserError: an option is unknown or missing, or its value has not the type that is expected.
    """
    told = io.StringIO()
    try:
        with contextlib.redirect_stderr(told):
            words, program = _plain(kind, words), program or _SCRIPT or None
            return tyro.cli(kind, args=words, prog=program or _module(), description=description, use_underscores=True)
    except SystemExit as ended:
        if not ended.code:
            raise
        raise UserError(f"{program or _started()}: {_in_one_line(told.getvalue(), hint)}") from None


def as_typed(message: str, words: Sequence[str]) -> str:
    """`message`, and which of the variables that it names (`TP`) are flags among `words` (`--tp 3`)."""
    typed = [word[2:].partition("=")[0].replace("-", "_") for word in words if word.startswith("--")]
    named = [
        flag
        for flag in dict.fromkeys(typed)
        if flag and re.search(rf"(?<![\w$]){re.escape(flag.upper())}(?!\w)", message)
    ]
    told = ", ".join(f"{flag.upper()} is --{flag}" for flag in named if f"--{flag}" not in message)
    return f"{message} ({told} here)" if told else message


def _module() -> str | None:
    """How it was started by `python -m`; None: by its file, which help names as it was typed."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return f"python -m {spec.name.removesuffix('.__main__')}" if spec else None


def _started() -> str:
    if _SCRIPT:
        return _SCRIPT
    path = Path(sys.argv[0])
    return path.parent.name if path.name == "__main__.py" else path.name


def _plain(kind: Any, words: Sequence[str]) -> list[str]:
    """`words` with each switch in the one way that tyro takes."""
    kinds = kinds_of(kind) if dataclasses.is_dataclass(kind) else {}
    plain, left = [], list(words)
    while left:
        word = left.pop(0)
        flag, equals, value = word.partition("=")
        name = flag.removeprefix("--").replace("-", "_") if flag.startswith("--") else ""
        if kinds.get(name) is bool:
            if not equals and left and left[0] in _TRUTH:
                value = left.pop(0)
            word = (flag if _TRUTH[value] else f"--no_{name}") if value in _TRUTH else word
        plain.append(word)
        if is_switch(kinds.get(name)) and not equals and (not left or left[0].startswith("--")):
            plain.append("true")
    return plain


def _in_one_line(told: str, hint: str) -> str:
    """What tyro's box says: the first of its parts, and what the others have to offer in its place."""
    lines = [cell[1] for line in told.splitlines() if (cell := _CELL.match(line))]
    if not lines:  # another version's way to say it
        return " ".join(told.split())
    parts = list(_parts(lines))
    what = " ".join(parts[0]).removesuffix(".")
    what = re.sub(r"^Error parsing (?:\w+: (?=-))?", "", what)  # a class of ours says nothing to who typed
    what = _NO_NUMBER.sub(r"\1 is no number", what)
    if what.startswith("Unrecognized options: "):
        given = what.partition(": ")[2].split(", ")
        names = next((title.partition(": ")[2] for title, *_ in parts[1:] if title.startswith(_COMMANDS)), "")
        if names and not given[0].startswith("-"):
            close = difflib.get_close_matches(given[0], names.split(", "), n=1)
            return f"{given[0]}: no such command; {f'the nearest is {close[0]}' if close else f'there are {names}'}"
        unknown = [word for word in given if word.startswith("-")] or given
        what = f"{' '.join(unknown)}: no such option"
    elif what.startswith("Missing from"):
        flags = [line.split()[0] for line in parts[0] if line.startswith("--")]
        words, _, tells = " ".join(parts[0][1:]).removesuffix(" (required)").partition(" ")
        what = f"{', '.join(flags)} must be given" if flags else f"{words} must be given: {tells.removesuffix('.')}"
    for title, *rest in parts[1:]:
        if title.startswith(_COMMANDS):
            return f"{what}; there are {title.partition(': ')[2]}"
        if title.startswith("Perhaps you meant") and rest:
            nearest = rest[0].replace("{None}|", "")
            return f"{what}; the nearest is {nearest}"
        if title.startswith("Argument helptext") and rest:
            return f"{what}; what is expected: {rest[0]}"
        if title.startswith("Unrecognized options"):
            return f"{what}; {' '.join(rest)}: no such option"
    return f"{what}; {hint}"


def _parts(lines: list[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for line in map(str.strip, lines):
        if _RULE.match(line):
            yield part
            part = []
        else:
            part.append(line)
    yield part

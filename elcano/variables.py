"""What recipes read of the shell's variables, and the task files that these choose."""

import os
from pathlib import Path

from common.defaults import ROOT
from common.errors import UserError


def number(variable: str, default: int, least: int | None = None) -> int:
    """Its value, `default` where it is not set or empty.

    Raises:
        UserError: it is no whole number, or below `least`.
    """
    said = os.environ.get(variable) or str(default)
    try:
        value = int(said)
    except ValueError:
        raise UserError(f"{variable} is a number, not {said!r}") from None
    if least is not None and value < least:
        raise UserError(f"{variable} is at least {least}, not {value}")
    return value


def switch(variable: str, default: str = "false") -> bool:
    """Whether it says `true`; `default` where it is not set or empty.

    Raises:
        UserError: it is neither `true` nor `false`.
    """
    value = os.environ.get(variable) or default
    if value not in ("true", "false"):
        raise UserError(f"{variable} is true or false, not {value!r}")
    return value == "true"


def first_tasks(tasks: Path, count: int, name: str) -> Path:
    """The first tasks of a file, whose kinds come in turn, in a file of their own: `<name>-first-<count>.jsonl`."""
    path = ROOT / "runs" / "tasks" / f"{name}-first-{count}.jsonl"
    content = "".join(tasks.read_text().splitlines(keepends=True)[:count])
    if not path.exists() or path.read_text() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return path

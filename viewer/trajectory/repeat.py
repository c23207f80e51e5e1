"""The commands that take a trajectory's task again: those of its run, from the logs that `elcano run` keeps."""

import contextlib
import itertools
import json
import re
import shlex
from pathlib import Path
from typing import Any

from common.errors import UserError
from viewer.catalog.opened import TrajectorySet
from viewer.catalog.reading import plain_folders, read

_COLLECTORS = ("collection/run.py", "collection/exploration_feedback.py")
_SERVERS = ("server/hf_online_server.py", "environments/sites/expert/server.py")
_MAX_BYTES = 2**20


def commands(one: TrajectorySet, task: dict[str, Any]) -> list[str]:
    """Lines to type; none where no log says how the set was taken. Everything in them is quoted for a shell, and JSON
    leaves no control character."""
    typed = _typed(one.path.parent)
    taken = next((words for words in typed if words[1] in _COLLECTORS and _wrote(words, one)), None)
    if taken is None or not task:
        return []
    try:
        said = json.dumps(task)
    except RecursionError:  # no collector would take it either
        return []
    asked, moved = " ".join(taken), Path(_value(taken, "--output_dir")).parents
    serving = _asked(typed, asked) or _asked(
        [words for folder in plain_folders(one.path.parents[1]) for words in _typed(folder)], asked
    )  # of the next round, which explored meanwhile
    if len(moved) > 2 and moved[0].name == one.path.parent.name:  # the run may lie elsewhere now
        there, here = f"{moved[1]}/", f"{one.path.parents[1]}/"
        taken, *serving = [
            [f"{here}{word.removeprefix(there)}" if word.startswith(there) else word for word in words]
            for words in [taken, *serving]
        ]
    again = _changed(_changed(taken, "--test_file", "task.jsonl"), "--output_dir", "again")
    return [
        f"printf '%s\\n' {shlex.quote(said)} > task.jsonl",
        *(shlex.join(words) + " &" for words in serving),
        shlex.join(again),
    ]


def _wrote(words: list[str], one: TrajectorySet) -> bool:
    """Whether a command of a log beside the set wrote it. Its run may have been copied or moved since."""
    return Path(_value(words, "--output_dir")).name == one.path.name


def _asked(typed: list[list[str]], asked: str) -> list[list[str]]:
    """The servers among the commands whose addresses stand in what was typed."""
    return [words for words in typed if words[1] in _SERVERS and f":{_value(words, '--port')}/" in asked]


def _typed(round_dir: Path) -> list[list[str]]:
    """The commands in a round's logs, lines of `$ NAME=value python script ...`, from Python on. A log holds
    those of all processes that wrote it, one after the other."""
    found = []
    for folder in plain_folders(round_dir):
        for path in sorted(folder.glob("*.log")) if folder.name == "logs" else []:
            with contextlib.suppress(UserError):
                content = read(folder, path.name, _MAX_BYTES, only_head=True) or b""
                found += [_words(line) for line in content.split(b"\n") if line.startswith(b"$ ")]
    return [["python", *words[1:]] for words in found if len(words) > 1]


def _words(line: bytes) -> list[str]:
    """Of a command, without the variables before it; [] for what is none."""
    with contextlib.suppress(ValueError):
        typed = line.decode().removeprefix("$ ")
        if typed.isprintable():
            return [*itertools.dropwhile(re.compile(r"\w+=").match, shlex.split(typed))]
    return []


def _value(words: list[str], flag: str) -> str:
    return words[words.index(flag) + 1] if flag in words[:-1] else ""


def _changed(words: list[str], flag: str, value: str) -> list[str]:
    if flag not in words[:-1]:
        return words
    place = words.index(flag) + 1
    return [*words[:place], value, *words[place + 1 :]]

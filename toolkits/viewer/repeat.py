"""The commands that take a trajectory's task again: those of its run, from the logs that `elcano run` keeps."""

import json
import re
import shlex
from typing import Any

from common.errors import UserError
from toolkits.viewer.opened import TrajectorySet, plain_folders, read

_COLLECTORS = ("collection/run.py", "collection/exploration_feedback.py")
_SERVERS = ("server/hf_online_server.py", "environments/sites/expert/server.py")
_LINE_BYTES = 2**16


def commands(one: TrajectorySet, task: dict[str, Any]) -> list[str]:
    """Lines to type; none where no log says how the set was taken. Everything in them is quoted for a shell, and JSON
    leaves no control character."""
    typed = _typed(one)
    taken = next((words for words in typed if words[1] in _COLLECTORS and str(one.path) in words), None)
    if taken is None or not task:
        return []
    try:
        said = json.dumps(task)
    except RecursionError:  # no collector would take it either
        return []
    asked = " ".join(taken)
    serving = [words for words in typed if words[1] in _SERVERS and f":{_value(words, '--port')}/" in asked]
    again = _changed(_changed(taken, "--test_file", "task.jsonl"), "--output_dir", "again")
    return [
        f"printf '%s\\n' {shlex.quote(said)} > task.jsonl",
        *(shlex.join(words) + " &" for words in serving),
        shlex.join(again),
    ]


def _typed(one: TrajectorySet) -> list[list[str]]:
    """The first lines of the logs beside the set, `$ NAME=value python script ...`, from the script's Python on."""
    found = []
    for folder in plain_folders(one.path.parent):
        for path in sorted(folder.glob("*.log")) if folder.name == "logs" else []:
            try:
                line = (read(folder, path.name, _LINE_BYTES, only_head=True) or b"").split(b"\n", 1)[0].decode()
                words = shlex.split(line.removeprefix("$ ")) if line.isprintable() else []
            except (UserError, ValueError):
                continue
            while words and re.match(r"\w+=", words[0]):
                words = words[1:]
            if len(words) > 1 and line.startswith("$ "):
                found.append(["python", *words[1:]])
    return found


def _value(words: list[str], flag: str) -> str:
    return words[words.index(flag) + 1] if flag in words[:-1] else ""


def _changed(words: list[str], flag: str, value: str) -> list[str]:
    if flag not in words[:-1]:
        return words
    place = words.index(flag) + 1
    return [*words[:place], value, *words[place + 1 :]]

"""Online-Mind2Web's results (a folder a task: `result.json` and `trajectory/`, its screenshots), as trajectory folders.

`action_history` says what was done, one text a step, `thoughts` where there are any what was thought, and
`final_result_response` the answer, which is a step of its own where a screenshot is left for it.
"""

import re
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_object
from toolkits.readers.reading.folders import ForeignStep, ForeignTrajectory, Tries, write_folder
from toolkits.readers.reading.steps import text_field, text_of

_ENDINGS = (".png", ".jpg", ".jpeg", ".webp")


def import_online_mind2web(path: Path, image_dir: Path, out_dir: Path, tries: Tries) -> None:
    """Write the folder of one result.

    Raises:
        UserError: naming the file: fields or screenshots are missing.
    """
    where = path / "result.json"
    result = read_object(where)
    done, images = _texts(where, result, "action_history"), _images(path / "trajectory")
    thoughts = _texts(where, result, "thoughts") if result.get("thoughts") else []
    if len(images) < len(done):
        raise UserError(f"{path}: {len(done)} actions, but {len(images)} screenshots in trajectory/")
    thoughts += [""] * (len(images) - len(thoughts))
    replies = [f"Thought: {thought}\n\nAction: {action}" for thought, action in zip(thoughts, done, strict=False)]
    answer = text_of(result.get("final_result_response")) or None
    if answer is not None and len(images) > len(done):
        replies.append(f"Thought: {thoughts[len(done)]}\n\nAction: ANSWER; {answer}")
    steps = [ForeignStep("", reply, image) for reply, image in zip(replies, images, strict=False)]
    task, run = tries.add("online_mind2web", text_field(str(where), result, "task"), _web(result))
    write_folder(str(path), out_dir, ForeignTrajectory(task, run, "Online-Mind2Web", steps, answer))


def _web(result: dict[str, Any]) -> str:
    return text_of(result.get("website")) or text_of(result.get("start_url")) or "unknown"


def _texts(where: Path, result: dict[str, Any], name: str) -> list[str]:
    found = result.get(name)
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise UserError(f"{where}: its {name} is no list of texts")
    return found


def _images(folder: Path) -> list[Path]:
    """By the first number in their names, as whose the files are in order."""
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder of screenshots")
    found = [path for path in folder.iterdir() if path.suffix.lower() in _ENDINGS and not path.is_symlink()]

    def place(path: Path) -> tuple[int, str]:
        number = re.search(r"\d{1,9}", path.name)
        return int(number[0]) if number else -1, path.name

    return sorted(found, key=place)

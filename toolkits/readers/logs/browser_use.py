"""browser-use's histories (`AgentHistoryList.save_to_file`, one JSON file a task), as trajectory folders.

    {"history": [{"model_output": {..., "action": [...]}, "result": [...], "state": {"url", "title", "screenshot"}}]}

A history does not say its task: give it as `task` beside `history`, or the file's name stands for it. Actions are kept
as the agent's JSON; the page's elements are not in the file, so title and address stand where the tree stands.
"""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_object
from toolkits.readers.reading.folders import ForeignStep, ForeignTrajectory, Tries, write_folder
from toolkits.readers.reading.steps import find_image, objects_in, text_of

_THOUGHTS = ("thinking", "evaluation_previous_goal", "memory", "next_goal")


def import_browser_use(path: Path, image_dir: Path, out_dir: Path, tries: Tries) -> None:
    """Write the folder of one history; steps in which the model gave no action, or of which nothing is shown, are left
    out.

    Raises:
        UserError: naming file and step.
    """
    content = read_object(path)
    entries = objects_in(f"{path}: history", content.get("history"))
    steps: list[ForeignStep] = []
    feedback = ""
    for number, entry in enumerate(entries, start=1):
        where = f"{path}: step {number}"
        output, state = _object(entry, "model_output"), _object(entry, "state")
        image = _image(where, image_dir, state)
        if output.get("action") and image is not None:
            url, title = text_of(state.get("url")), text_of(state.get("title"))
            steps.append(ForeignStep(f"{title}\n{url}", _reply(output), image, url, feedback))
        feedback = _told(entry)
    ques = text_of(content.get("task")) or path.stem
    task, run = tries.add("browser_use", ques, next((step.url for step in steps if step.url), "") or "unknown")
    write_folder(str(path), out_dir, ForeignTrajectory(task, run, "browser-use", steps, _answer(entries)))


def _object(entry: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = entry.get(name)
    return value if isinstance(value, dict) else {}


def _image(where: str, image_dir: Path, state: Mapping[str, Any]) -> bytes | Path | None:
    if name := text_of(state.get("screenshot_path")):
        return image_dir / find_image(where, image_dir, name)
    if not (encoded := text_of(state.get("screenshot"))):
        return None
    try:
        return base64.b64decode(encoded.rpartition(",")[2], validate=True)
    except (binascii.Error, ValueError):
        raise UserError(f"{where}: its screenshot is no base64") from None


def _reply(output: Mapping[str, Any]) -> str:
    """Newer versions have the thoughts beside the action, older ones in `current_state`."""
    said = {**_object(output, "current_state"), **output}
    thought = " ".join(filter(None, (text_of(said.get(name)) for name in _THOUGHTS)))
    return f"Thought: {thought}\n\nAction: {json.dumps(output['action'], ensure_ascii=False)}"


def _results(entry: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    results = entry.get("result")
    return [one for one in results if isinstance(one, dict)] if isinstance(results, list) else []


def _told(entry: Mapping[str, Any]) -> str:
    said = (text_of(one.get("error")) or text_of(one.get("extracted_content")) for one in _results(entry))
    return "\n".join(filter(None, said))


def _answer(entries: Sequence[Mapping[str, Any]]) -> str | None:
    """What the agent ended with; its own word that this was a success is no verdict."""
    ended = [one for entry in entries[-1:] for one in _results(entry) if one.get("is_done") is True]
    return text_of(ended[-1].get("extracted_content")) if ended else None

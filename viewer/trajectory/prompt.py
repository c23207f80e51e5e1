"""What the model was asked at a step, built from what was kept by the same functions as the collector asked it with."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import parse_json
from data.action_spaces import known_space
from data.conversation import StepText, build_chat
from data.observation import shown
from viewer.catalog.heads import as_number, as_object, as_text
from viewer.catalog.reading import read
from viewer.trajectory.detail import read_folder, read_tree


def read_prompt(folder: Path, number: int) -> list[dict[str, str]]:
    """`role` and `text` of each message at step `number`; screenshots are `<image>` or a line.

    Raises:
        UserError: something that it takes is missing.
    """
    ques, web, provenance, steps = read_asked(folder)
    if provenance.get("hide", "nothing") != "nothing" or provenance.get("text_only"):
        raise UserError(
            "it was asked with less than the page's tree and screenshots, all of which the trajectory keeps"
        )
    if "source" in provenance:
        raise UserError("it was taken elsewhere, by a prompt that is not kept")
    if len(steps) < number:
        raise UserError(f"step {number} is not there yet")
    texts = read_texts(folder, steps[:number])
    texts[-1] = StepText(texts[-1].tree, texts[-1].feedback, None, texts[-1].notes)
    if provenance.get("prompt") == "trained":
        turns = known_space(provenance).conversation(ques, texts, num_images(provenance)).turns
        return [{"role": turn.role, "text": turn.text} for turn in turns]
    messages = build_chat(_system_prompt(folder), ques, web, texts, num_images(provenance), shown(provenance))
    return [{"role": message["role"], "text": _said(message["content"])} for message in messages]


def read_asked(folder: Path) -> tuple[str, str, dict[str, Any], list[dict[str, Any]]]:
    """What was asked, where it begins, the provenance and the steps; `UserError` where no task stands there."""
    summary, steps, _ = read_folder(folder)
    task = as_object(summary.get("task"))
    if not (ques := as_text(task.get("ques"))):
        raise UserError("the task stands in trajectory.json, which is not there yet")
    return ques, as_text(task.get("web")), as_object(summary.get("provenance")), steps


def read_texts(folder: Path, steps: Sequence[dict[str, Any]]) -> list[StepText]:
    """Of the first steps, with their trees."""
    texts = []
    for at, step in enumerate(steps, start=1):
        fields = {name: as_text(step.get(name)) for name in ("feedback", "reply", "notes")}
        texts.append(StepText(as_text(step["shown"]) if "shown" in step else read_tree(folder, at), **fields))
    return texts


def num_images(provenance: dict[str, Any]) -> int:
    """Of the newest screenshots that a prompt has; OpenWebVoyager's number where nothing is said."""
    return int(as_number(provenance.get("max_attached_imgs")) or 3)


def _system_prompt(folder: Path) -> str:
    try:
        messages = parse_json(read(folder, "interact_messages.json") or b"[]")
    except ValueError:
        return ""
    first = as_object(messages[0]) if isinstance(messages, list) and messages else {}
    return as_text(first.get("content"))


def _said(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or f"(screenshot of step {part['step']})" for part in content)

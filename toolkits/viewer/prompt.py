"""What the model was asked at a step, built from what was kept by the same functions as the collector asked it with."""

from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import parse_json
from data.conversation import StepText, build_chat, build_conversation
from toolkits.viewer.detail import read_tree
from toolkits.viewer.heads import as_number, as_object, as_text, read_object, read_steps
from toolkits.viewer.opened import read


def read_prompt(folder: Path, number: int) -> list[dict[str, str]]:
    """`role` and `text` of each message at step `number`; screenshots are `<image>` or a line.

    Raises:
        UserError: something that it takes is missing.
    """
    summary = read_object(folder, "trajectory.json") or {}
    task, provenance = as_object(summary.get("task")), as_object(summary.get("provenance"))
    ques, web = as_text(task.get("ques")), as_text(task.get("web"))
    if not ques:
        raise UserError("the task stands in trajectory.json, which is not there yet")
    if provenance.get("hide", "nothing") != "nothing" or provenance.get("text_only"):
        raise UserError(
            "it was asked with less than the page's tree and screenshots, all of which the trajectory keeps"
        )
    steps = [_text(folder, at, step) for at, step in enumerate(read_steps(folder)[0][:number], start=1)]
    if len(steps) < number:
        raise UserError(f"step {number} is not there yet")
    steps[-1] = StepText(steps[-1].tree, steps[-1].feedback, None, steps[-1].notes)
    last_n = int(as_number(provenance.get("max_attached_imgs")) or 1)
    if provenance.get("prompt") == "trained":
        return [{"role": turn.role, "text": turn.text} for turn in build_conversation(ques, steps, last_n).turns]
    marks = provenance.get("observation") == "marks"
    messages = build_chat(_system_prompt(folder), ques, web, steps, last_n, marks)
    return [{"role": message["role"], "text": _said(message["content"])} for message in messages]


def _text(folder: Path, number: int, step: dict[str, Any]) -> StepText:
    fields = {name: as_text(step.get(name)) for name in ("feedback", "reply", "notes")}
    return StepText(read_tree(folder, number), **fields)


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

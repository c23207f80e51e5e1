"""OpenWebVoyager's released trajectories in our form, without their pages: what is missing of those is told there."""

import dataclasses
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import decode_text, parse_json
from common.shown.terminal import in_short
from data.trajectory import parse_messages, released_end, released_verdict
from viewer.catalog.reading import read


def is_released(folder: Path) -> bool:
    """Whether it holds what they do and none of ours."""
    return read(folder, "steps.jsonl", 0, only_head=True) is None and bool(
        read(folder, "interact_messages.json", 1, only_head=True)
    )


def read_released(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """(as our trajectory.json, with the evaluator's `verdict`; steps); `UserError` where they cannot be read."""
    try:
        messages = parse_json(decode_text(read(folder, "interact_messages.json") or b""))
        ques, web, steps = parse_messages("interact_messages.json", messages)
        log = read(folder, "agent.log")
        status, answer = released_end(None if log is None else log.decode(errors="replace"), steps)
        told = read(folder, "eval_res.json")
        verdict = released_verdict(parse_json(decode_text(told))) if told else None
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"not what a released trajectory holds ({in_short(repr(error))})") from None
    summary = {"task": {"ques": ques, "web": web}, "status": status, "answer": answer, "verdict": verdict}
    return summary, [dataclasses.asdict(step) for step in steps]

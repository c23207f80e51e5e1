"""Reading proposals: one JSON object a line after `Output:`; what cannot be read is counted and left out."""

import json
import re
from dataclasses import dataclass

MAX_CHARACTERS = 600  # of an instruction; longer ones are essays


@dataclass(frozen=True)
class Proposals:
    """Instructions in the order they came, and how many lines were unreadable."""

    ques: list[str]
    num_unreadable: int


def parse_proposals(text: str) -> Proposals | None:
    """The tasks of a reply; None when it holds none, so that it is asked for again."""
    _, found, body = text.rpartition("Output:")
    lines = [line.strip().strip("`").strip() for line in (body if found else text).splitlines()]
    ques, num_unreadable = [], 0
    for line in lines:
        if not line or line in ("json", "jsonl", "[", "]"):
            continue
        if (instruction := _instruction(line)) is not None:
            ques.append(instruction)
        elif found:
            num_unreadable += 1
    return Proposals(ques, num_unreadable) if ques else None


def _instruction(line: str) -> str | None:
    try:
        fields = json.loads(line.rstrip(","))
    except json.JSONDecodeError:
        return None
    ques = fields.get("ques") if isinstance(fields, dict) else None
    if not isinstance(ques, str) or not ques.strip() or len(ques) > MAX_CHARACTERS or "\0" in ques:
        return None
    return re.sub(r"\s+", " ", ques).strip()

"""WebRL's processed steps (`*.pt` of its process_data.py, also the shuffled `_filter` ones), as samples without images.

An observation is a whole Llama-3 prompt, `Task Instruction: ...`, then rounds of user and assistant text between header
marks. The marks become turns, so that any model's chat template can stand in their place. Their `reward` is the whole
trajectory's, on each of its steps: it counts on the last one alone, as everywhere here.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common.errors import UserError
from toolkits.readers.reading.steps import enumerate_steps, record, rewarded, sample_id, text_field

_HEADER = re.compile(r"<\|eot_id\|><\|start_header_id\|>(user|assistant)<\|end_header_id\|>\n")
_NEXT_ROUND = re.compile(r"\n\n(Round \d+)\n\n$")


def read_webrl(path: Path, image_dir: Path, round_id: int) -> Iterator[dict[str, Any]]:
    """One sample a step: its rounds so far, and the action."""
    for where, number, index, trajectory in enumerate_steps(path):
        step = trajectory[index - 1]
        turns = [*split_prompt(where, text_field(where, step, "observation")), text_field(where, step, "action")]
        identifier = sample_id(path.stem, number, round_id, index)
        fields = rewarded(where, step, identifier)
        if not fields.get("done") and "reward" in fields:
            fields["reward"] = 0.0
        yield record(identifier, [], turns, fields)


def split_prompt(where: str, prompt: str) -> list[str]:
    """User and assistant texts in turn, ending with the user's; one text when there are no marks."""
    opening, *rest = _HEADER.split(prompt)
    if not rest:
        return [prompt]
    roles, texts = rest[::2], rest[1::2]
    if roles != ["user", "assistant"] * (len(roles) // 2) or texts[-1].strip():
        raise UserError(f"{where}: its observation does not end with the assistant's turn to speak")
    turns = []
    for role, text in zip(roles, texts, strict=True):
        if role == "user":
            turns.append(f"{opening.strip()}\n\n{text.strip()}")
        elif following := _NEXT_ROUND.search(text):
            turns.append(text[: following.start()])
            opening = following[1]
    if len(turns) != len(roles) - 1:
        raise UserError(f"{where}: its rounds are not numbered")
    return turns

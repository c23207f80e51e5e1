"""WebRL's rollouts (`traces/<task>.jsonl`, one a task, with scores in `actions/<task>.json`), as trajectory folders.

They hold pages as text and no pictures: `html` stands where the tree stands, and a blank picture where a screenshot
would. toolkits/process_data.py reads the same files without folders.
"""

import re
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import parse_json, read_json, read_lines
from data.outcome import Outcome, Verdict
from toolkits.readers.reading.folders import ForeignStep, ForeignTrajectory, Tries, write_folder
from toolkits.readers.reading.steps import said_in, text_field, text_of

_EXIT = re.compile(r"\bexit\(message=(.*)\)\s*$", re.DOTALL)


def import_webrl_traces(path: Path, image_dir: Path, out_dir: Path, tries: Tries) -> None:
    """Write the folder of one trace.

    Raises:
        UserError: naming file and step.
    """
    lines = read_trace_lines(path)
    fields = [(f"{path}: step {number}", line) for number, line in enumerate(lines, start=1)]
    steps = [_step(where, line) for where, line in fields]
    ques = text_field(*fields[0], "target") if fields else path.stem
    task, run = tries.add("webrl", ques, next((step.url for step in steps if step.url), "") or "unknown")
    answer = said_in(_EXIT, steps[-1].reply) if steps else None
    solved = score_of_trace(path)
    outcome = None if solved is None else Outcome(Verdict.SUCCESS if solved else Verdict.FAILURE, judge="webarena")
    write_folder(str(path), out_dir, ForeignTrajectory(task, run, "WebRL", steps, answer, outcome))


def _step(where: str, line: dict[str, Any]) -> ForeignStep:
    tree, reply = text_field(where, line, "html"), text_field(where, line, "response")
    return ForeignStep(tree, reply, None, text_of(line.get("url")))


def score_of_trace(path: Path) -> bool | None:
    """WebArena's score of a trace; None where nobody judged it."""
    score_path = path.parent.parent / "actions" / f"{path.stem}.json"
    if not score_path.exists():
        return None
    fields = read_json(score_path)
    if not isinstance(fields, dict) or not isinstance(fields.get("score"), int | float):
        raise UserError(f"{score_path}: has no number `score`")
    return fields["score"] >= 0.5


def read_trace_lines(path: Path) -> list[dict[str, Any]]:
    """A trace's steps; `UserError` where it is none."""
    lines = [line for line in read_lines(path) if line.strip()]
    try:
        steps = [parse_json(line) for line in lines]
    except ValueError as error:
        raise UserError(f"{path}: not JSON lines ({error})") from None
    if not all(isinstance(step, dict) for step in steps):
        raise UserError(f"{path}: a line is not a step")
    return steps

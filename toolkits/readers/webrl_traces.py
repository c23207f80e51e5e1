"""WebRL's rollouts (`traces/<task>.jsonl`, one a task, with scores in `actions/<task>.json`), as trajectory folders.

They hold pages as text and no pictures: `html` stands where the tree stands, and a blank picture where a screenshot
would. toolkits/process_data.py reads the same files without folders.
"""

import re
from pathlib import Path
from typing import Any

from data.outcome import Outcome, Verdict
from toolkits.readers.folders import ForeignStep, ForeignTrajectory, Tries, write_folder
from toolkits.readers.steps import said_in, text_field, text_of
from toolkits.rollouts import read_trace_lines, score_of_trace

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

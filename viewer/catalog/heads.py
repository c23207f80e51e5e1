"""Head: what the table of trajectories says of one, read from its folder without its pages."""

import json
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import parse_json
from data.outcome import Outcome, Verdict
from data.task import family_of_task, site_name
from data.trajectory import outcome_by_end, split_folder_name
from viewer.catalog.reading import read
from viewer.catalog.released import is_released, read_released

UNFINISHED = "unfinished"  # under way, or interrupted
UNJUDGED = "unjudged"
UNREADABLE = "unreadable"
UNPROVEN = (*(verdict for verdict in Verdict if verdict.solved is None), UNFINISHED, UNJUDGED, UNREADABLE, "")
"""Outcomes that say neither that a task was solved nor that it was not."""
_MAX_TEXT = 200_000
LARGEST = 1e15  # sums of what others call numbers stay finite
_KINDS = {  # of WebArena's answers, in words
    r"expected must_include \[(.*)\]$": r"expected an answer with \1",
    r"expected exact_match (.*)$": r"expected the answer \1",
}


@dataclass
class Head:
    """One trajectory. `outcome` is a verdict or one of the words above, "" until it is read, `seconds` the sum of its
    steps' timings, `surprise` the mean of -log p over the sampled tokens, None where all were certain (temperature 0),
    `text` what is searched, casefolded."""

    name: str
    task: str = ""
    run: int | None = None
    ques: str = ""
    site: str = ""
    family: str = ""
    outcome: str = ""
    status: str = ""
    reason: str = ""
    judge: str = ""
    steps: int = 0
    seconds: float = 0.0
    policy: str = ""
    version: str = ""
    surprise: float | None = None
    text: str = ""


def read_head(folder: Path) -> Head:
    """Whatever is broken in it becomes `unreadable`, with a line in `reason`."""
    head = bare_head(folder.name)
    try:
        summary, problems = read_object(folder, "trajectory.json"), []
        if summary is None and is_released(folder):
            summary, steps = read_released(folder)
        else:
            steps, problems = read_steps(folder, summary)
        _fill(head, folder, summary, steps, problems)
    except Exception as error:  # whatever it holds, the folders after it are read
        said = str(error) if isinstance(error, UserError) else repr(error)
        head.outcome, head.reason = UNREADABLE, shortened(as_text(said.replace(f"{folder}: ", "")))
    return head


def bare_head(name: str) -> Head:
    """What a folder's name tells."""
    task, run = split_folder_name(name)
    if (run or 0) >= 2**31:  # no try has such a number
        task, run = name, None
    return Head(name, task=task, run=run, family=family_of_task(task))


def read_object(folder: Path, name: str) -> dict[str, Any] | None:
    """A JSON object of a folder; None where it is missing; `UserError` for anything else."""
    content = read(folder, name)
    if content is None:
        return None
    try:
        value = parse_json(content.decode())
    except ValueError as error:
        raise UserError(f"{name}: not valid JSON ({shortened(str(error))})") from None
    if not isinstance(value, dict):
        raise UserError(f"{name}: not a JSON object")
    return value


def read_steps(folder: Path, summary: dict[str, Any] | None = None) -> tuple[list[dict[str, Any]], list[str]]:
    """The steps written so far, and a line for each that cannot be read, or where `summary` knows of others. One that
    cannot be read is {}, so that those after it keep their pages. The last line may be half written."""
    content = read(folder, "steps.jsonl") or b""
    steps, problems = [], []
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        if not line.strip():
            continue
        steps.append({})
        try:
            step = parse_json(line.decode())
            if not isinstance(step, dict):
                raise ValueError("not a JSON object")
            steps[-1] = step
        except ValueError as error:
            problems.append(f"steps.jsonl, line {number}: {shortened(str(error))}")
    said = as_number((summary or {}).get("num_steps"))
    if said is not None and said != len(steps):
        problems.append(f"steps.jsonl holds {len(steps)} steps, trajectory.json says {said}")
    return steps, problems


def as_text(value: Any) -> str:
    """Texts stay, without halves of characters; nothing else is one."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else ""


def as_json(value: Any) -> str:
    """For people, cut where it is long."""
    try:
        return shortened(json.dumps(value, indent=2), 100_000)
    except RecursionError:
        return "(nested too deeply)"


def as_number(value: Any) -> float | None:
    """A finite number, or None."""
    return value if is_number(value) and abs(value) < LARGEST else None  # which NaN is not


def is_number(value: Any) -> bool:
    """Also one that is not finite."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def numbers(value: Any) -> list[float]:
    """The finite numbers of a list; [] for anything else."""
    return [one for one in value if as_number(one) is not None] if isinstance(value, list) else []


def as_object(value: Any) -> dict[str, Any]:
    """A JSON object stays, anything else is an empty one."""
    return value if isinstance(value, dict) else {}


def plain_reason(reason: str) -> str:
    """A judge's reason without the names of WebArena's kinds of answers."""
    if len(reason) > 2000:
        return reason
    for kind, words in _KINDS.items():
        reason = re.sub(kind, words, reason, flags=re.DOTALL)
    return reason


def folded(text: str) -> str:
    """As it is searched: capitals or not, and however its characters are composed."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def shortened(text: str, most: int = 300) -> str:
    """At most so many characters."""
    return text if len(text) <= most else f"{text[:most]}..."


def read_verdict(folder: Path, name: str = "outcome.json") -> Outcome | None:
    """A judge's verdict; `UserError` where the file is not one."""
    found = read_object(folder, name)
    return None if found is None else Outcome.from_json(found)


def _fill(
    head: Head, folder: Path, found: dict[str, Any] | None, steps: list[dict[str, Any]], problems: list[str]
) -> None:
    summary = found or {}
    task, provenance = as_object(summary.get("task")), as_object(summary.get("provenance"))
    head.ques, head.policy = shortened(as_text(task.get("ques"))), as_text(provenance.get("policy"))
    web = as_text(task.get("web")) or (as_text(steps[0].get("url")) if steps else "")
    head.site = shortened(site_name(as_text(task.get("web_name")) or as_text(task.get("website")) or web))
    head.status, head.reason = as_text(summary.get("status")), shortened(as_text(summary.get("reason")))
    head.steps = len(steps)
    head.seconds = round(sum(sum(numbers([*as_object(one.get("timings_s")).values()])) for one in steps), 1)
    head.version = shortened(as_text(steps[-1].get("weights_version"))) if steps else ""
    logprobs = [one for step in steps for one in numbers(step.get("logprobs"))]
    head.surprise = round(-sum(logprobs) / len(logprobs), 3) + 0.0 if any(logprobs) else None
    acted = [text for step in steps for text in (as_text(step.get("reply")), *_texts_of(step.get("actions")))]
    head.text = folded("\n".join([as_text(task.get("ques")), *acted])[:_MAX_TEXT])
    if not summary:
        head.outcome, head.reason = UNFINISHED, problems[0] if problems else ""
    elif problems:
        head.outcome, head.reason = UNREADABLE, problems[0]
    else:
        said, by_end = read_verdict(folder) or released_outcome(summary), outcome_by_end(head.status, head.reason)
        _judge(head, said if by_end is None or (said and said.verdict is by_end.verdict) else by_end)


def released_outcome(summary: dict[str, Any]) -> Outcome | None:
    """What OpenWebVoyager's evaluator said, where `read_released` made the summary; ours hold none."""
    found = summary.get("verdict")
    return found if isinstance(found, Outcome) else None


def _texts_of(records: Any) -> list[str]:
    """The words of actions that are kept as records: what was done, what was typed."""
    found = []
    for record in map(as_object, records if isinstance(records, list) else []):
        found += [as_text(record.get("kind")), *map(as_text, as_object(record.get("arguments")).values())]
    return found


def _judge(head: Head, outcome: Outcome | None) -> None:
    head.outcome = outcome.verdict.value if outcome else UNJUDGED
    if outcome:
        head.judge, head.reason = (
            shortened(as_text(outcome.judge)),
            shortened(plain_reason(as_text(outcome.reason))) or head.reason,
        )

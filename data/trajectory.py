"""Trajectory: the folder one run of one task leaves behind.

    <output_dir>/task<ID>[--run<k>]/
        screenshot<N>.png, accessibility_tree<N>.txt/.json    what the agent saw at step N = 1, 2, ...
        boxes<N>.json                                         where its elements lay: {label: [x, y, width, height]}
        steps.jsonl                                           what it said and how long things took, one line a step
        interact_messages.json, agent.log                     as OpenWebVoyager writes them, at the end
        trajectory.json                                       last, atomically: its presence means complete
        outcome.json, eval_res.json                           the judge's verdict
        final_state.json                                      the embedded site's state, when the task's eval asks
        final_pages.json                                      what WebArena's `program_html` looks at, likewise
        final_screen.json                                     a device's screen after the last step, as base64

File names are OpenWebVoyager's, so its released trajectories read here and ours read there.
"""

import base64
import dataclasses
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import parse_json, read_json, read_lines, write_json
from common.options.fields import check_fields
from common.shown.terminal import in_short
from data.actions.action import CANNOT_EXECUTE, FORMAT_ERROR, ActionError, Answer, parse_reply
from data.conversation import StepText
from data.names import check_name
from data.outcome import Outcome, Verdict

FINISHED = "finished"  # the agent answered
MAX_STEPS = "max_steps"  # it did not answer in time
BLOCKED = "blocked"  # the website turned the agent away; `reason` says how
INVALID = "invalid"  # browser, network or server failed; `reason` says how

AGREEMENT = ".agreement"  # beside trajectory folders: what other judges say, in <judge>/<trajectory>.json
PERSON = "person"  # the judge whose verdicts are a person's

FINAL_SCREEN = "final_screen"  # the name of what `final_screenshot` reads
_FINISH_LINE = "INFO - finish!!"
_LEGACY_CANNOT_EXECUTE = re.compile(r"The action you have chosen cannot be exected\.[^\n]*?Thought and Action\.")


@dataclasses.dataclass(frozen=True)
class TrajectoryStep:
    """One line of `steps.jsonl`: observation `number` (1-based), the feedback shown with it, and the reply to it.

    `timings_s` are seconds by name; `token_ids`, `logprobs` are the reply's, as the server gave them. The `logprobs`
    are of the distributions that the tokens were drawn from (after temperature, top-k, top-p, minimum length and bad
    words), not the model's own: what importance ratios divide by. `sampling` is what was applied, by name; what all
    steps have in common stands in the trajectory's provenance, too. `shown` is what the agent read in the tree's place,
    and `actions` are what it did (`data.actions.point_action.ActionRecord`), where its action space has coordinates.
    """

    number: int
    url: str
    reply: str
    feedback: str = ""
    notes: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    weights_version: str = ""
    token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    sampling: dict[str, Any] = dataclasses.field(default_factory=dict)
    timings_s: dict[str, float] = dataclasses.field(default_factory=dict)
    shown: str | None = None
    actions: list[dict[str, Any]] | None = None

    def to_json(self) -> dict[str, Any]:
        """Without what only action spaces by coordinates have, where this one has none."""
        fields = dataclasses.asdict(self)
        return {name: value for name, value in fields.items() if name not in ("shown", "actions") or value is not None}

    def text(self, tree: str) -> StepText:
        """As `data.conversation` takes it."""
        read = tree if self.shown is None else self.shown
        return StepText(tree=read, feedback=self.feedback, reply=self.reply, notes=self.notes)


@dataclasses.dataclass(frozen=True)
class Trajectory:
    """A trajectory read back. `trees[i]` belongs to `steps[i]`; screenshots lie at `screenshot(number)`."""

    folder: Path
    task_id: str
    run: int | None
    ques: str
    web: str
    steps: list[TrajectoryStep]
    trees: list[str]
    status: str
    answer: str | None = None
    reason: str = ""
    outcome: Outcome | None = None
    provenance: dict[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        check_name(f"{self.folder}: the task id", self.task_id)
        if self.run is not None and type(self.run) is not int:
            raise UserError(f"{self.folder}: its run {self.run!r} is not a number")

    @property
    def ended_by_others(self) -> Outcome | None:
        """Of one that a fault or the website ended before the agent was done: its outcome, whatever a judge said."""
        return outcome_by_end(self.status, self.reason)

    @property
    def finished(self) -> bool:
        return self.status == FINISHED

    def screenshot(self, number: int) -> Path:
        return self.folder / f"screenshot{number}.png"

    def texts(self) -> list[StepText]:
        """The steps as `data.conversation` takes them."""
        return [step.text(tree) for step, tree in zip(self.steps, self.trees, strict=True)]

    def final_url(self) -> str:
        """Where the agent was at its last step."""
        return self.steps[-1].url if self.steps else self.web

    def final_state(self) -> Any | None:
        """The embedded site's state after the last step, or None."""
        path = self.folder / "final_state.json"
        return read_json(path) if path.exists() else None

    def final_screenshot(self) -> bytes | None:
        """The screen after the last step as PNG, where the environment kept it."""
        path = self.folder / f"{FINAL_SCREEN}.json"
        if not path.exists():
            return None
        try:
            return base64.b64decode(read_json(path)["png"], validate=True)
        except (KeyError, TypeError, ValueError):
            raise UserError(f"{path}: holds no screenshot") from None


def folder_name(task_id: str, run: int | None = None) -> str:
    """`task<ID>`, or `task<ID>--run<k>` for the k-th try of an exploration."""
    return f"task{task_id}" if run is None else f"task{task_id}--run{run}"


def split_folder_name(name: str) -> tuple[str, int | None]:
    """The inverse of `folder_name`."""
    match = re.fullmatch(r"task(?P<id>.+?)(?:--run(?P<run>\d+))?", name)
    if match is None:
        raise UserError(f"{name}: not a trajectory folder; its name would start with 'task'")
    return match["id"], None if match["run"] is None else int(match["run"])


def list_trajectories(results_dir: str | Path) -> list[Path]:
    """The trajectory folders of a run, complete or not, sorted by name."""
    results_dir = Path(results_dir)
    if not results_dir.is_dir():
        raise UserError(f"{results_dir}: no such folder of trajectories")
    return sorted(path for path in results_dir.iterdir() if path.is_dir() and path.name.startswith("task"))


def is_complete(folder: Path) -> bool:
    """Ours are complete with `trajectory.json`, OpenWebVoyager's with `interact_messages.json` and no `steps.jsonl`."""
    if (folder / "trajectory.json").exists():
        return True
    return (folder / "interact_messages.json").exists() and not (folder / "steps.jsonl").exists()


def read_end(folder: Path) -> dict[str, Any] | None:
    """What `trajectory.json` says, which is written last; None where there is none.

    Raises:
        UserError: it says something else than a trajectory's end.
    """
    path = folder / "trajectory.json"
    if not path.exists():
        return None
    end, kinds = read_json(path), {"task": dict, "status": str, "reason": str, "num_steps": int}
    if not (isinstance(end, dict) and all(isinstance(end.get(name), kind) for name, kind in kinds.items())):
        raise UserError(f"{path}: not the end of a trajectory; delete its folder, and the same command takes it anew")
    return end


def write_outcome(folder: Path, outcome: Outcome) -> None:
    """The verdict, ours and in the form OpenWebVoyager's evaluator leaves: `success` 0 or 1, so not for `invalid`."""
    released = folder / "eval_res.json"
    if outcome.verdict is Verdict.INVALID:
        released.unlink(missing_ok=True)
    else:
        message = {"role": "assistant", "content": outcome.raw or outcome.reason, "success": int(outcome.success)}
        write_json(released, [message])
    write_json(folder / "outcome.json", outcome.to_json())


def outcome_by_end(status: str, reason: str) -> Outcome | None:
    """See `Trajectory.ended_by_others`."""
    if status == INVALID:
        return Outcome(Verdict.INVALID, reason or "the trajectory ended by a fault")
    return Outcome(Verdict.BLOCKED, reason) if status == BLOCKED else None


def read_outcome(folder: Path) -> Outcome | None:
    """The verdict, or None while unjudged."""
    path = folder / "outcome.json"
    try:
        return Outcome.from_json(read_json(path)) if path.exists() else None
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def read_trajectory(folder: str | Path) -> Trajectory:
    """Read a complete folder, ours or OpenWebVoyager's.

    Raises:
        UserError: when the folder is not complete or contradicts itself, or holds a link: that would put a file of this
            machine among the samples, or wait for ever.
    """
    folder = Path(folder)
    if not is_complete(folder):
        raise UserError(f"{folder}: not a complete trajectory")
    names = {entry.name for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False)}
    for entry in os.scandir(folder):
        if entry.name not in names and not entry.is_dir(follow_symlinks=False):
            raise UserError(f"{folder}: {entry.name} is a link or no file; copy what it leads to in its place")
    try:
        trajectory = _read_ours(folder) if (folder / "trajectory.json").exists() else _read_released(folder)
    except UserError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, OSError) as error:
        raise UserError(f"{folder}: not what a trajectory holds ({in_short(repr(error))})") from None
    check_fields(str(folder), trajectory)
    for step in trajectory.steps:
        if f"screenshot{step.number}.png" not in names:
            raise UserError(f"{folder}: screenshot{step.number}.png is missing")
    return trajectory


def _read_ours(folder: Path) -> Trajectory:
    summary = read_json(folder / "trajectory.json")
    try:
        steps = [TrajectoryStep(**parse_json(line)) for line in read_lines(folder / "steps.jsonl")]
    except (ValueError, TypeError) as error:
        raise UserError(f"{folder}: steps.jsonl has a line that is no step ({error})") from None
    _check_numbers(folder, steps)
    for step in steps:
        check_fields(f"{folder}: step {step.number}", step)
    if len(steps) != summary["num_steps"]:
        raise UserError(f"{folder}: steps.jsonl holds {len(steps)} steps, trajectory.json says {summary['num_steps']}")
    return Trajectory(
        folder=folder,
        task_id=summary["task"]["id"],
        run=summary["run"],
        ques=summary["task"]["ques"],
        web=summary["task"]["web"],
        steps=steps,
        trees=[_read_tree(folder, step.number) for step in steps],
        status=summary["status"],
        answer=summary["answer"],
        reason=summary["reason"],
        outcome=outcome_by_end(summary["status"], summary["reason"]) or read_outcome(folder),
        provenance=summary["provenance"],
    )


def _check_numbers(folder: Path, steps: Sequence[TrajectoryStep]) -> None:
    """Step numbers are parts of file names."""
    if [repr(step.number) for step in steps] != [str(number) for number in range(1, len(steps) + 1)]:
        raise UserError(f"{folder}: its steps are not numbered 1 to {len(steps)}")


def _read_released(folder: Path) -> Trajectory:
    ques, web, steps = parse_messages(str(folder), read_json(folder / "interact_messages.json"))
    log = folder / "agent.log"
    status, answer = released_end(log.read_text(encoding="utf-8", errors="replace") if log.exists() else None, steps)
    task_id, run = split_folder_name(folder.name)
    evaluated = folder / "eval_res.json"
    return Trajectory(
        folder=folder,
        task_id=task_id,
        run=run,
        ques=ques,
        web=web,
        steps=steps,
        trees=_read_released_trees(folder, steps),
        status=status,
        answer=answer,
        outcome=read_outcome(folder) or (released_verdict(read_json(evaluated)) if evaluated.exists() else None),
    )


def parse_messages(where: str, messages: Any) -> tuple[str, str, list[TrajectoryStep]]:
    """(question, start page, steps) of OpenWebVoyager's `interact_messages.json`.

    Raises:
        UserError: they open or end otherwise.
        LookupError, TypeError, AttributeError: they are no messages.
    """
    ques, _, rest = _text_of(messages[1:2]).partition("Now given a task:")[2].partition("Please interact with ")
    if not ques or not rest.split():
        raise UserError(f"{where}: interact_messages.json does not open with 'Now given a task: ...'")
    users, replies = messages[1::2], messages[2::2]
    if not replies:
        raise UserError(f"{where}: interact_messages.json holds no reply of an agent")
    steps = [
        TrajectoryStep(
            number=number, url="", reply=reply["content"], feedback=_feedback_of(_text_of([user])) if number > 1 else ""
        )
        for number, (user, reply) in enumerate(zip(users, replies, strict=False), start=1)  # the last may be unanswered
    ]
    return ques.strip(), rest.split()[0], steps


def released_end(log: str | None, steps: Sequence[TrajectoryStep]) -> tuple[str, str | None]:
    """(status, answer) by OpenWebVoyager's `agent.log`; where it was not kept, by the last reply."""
    answer = answer_of(steps[-1].reply)
    finished = answer is not None if log is None else _FINISH_LINE in log
    return FINISHED if finished else MAX_STEPS, answer if finished else None


def released_verdict(evaluated: Any) -> Outcome:
    """The verdict of OpenWebVoyager's evaluator: the last message of `eval_res.json` carries `success` 0 or 1."""
    last = evaluated[-1]
    verdict = Verdict.SUCCESS if last["success"] else Verdict.FAILURE
    return Outcome(verdict, judge="eval_res.json", raw=last["content"])


def _read_released_trees(folder: Path, steps: Sequence[TrajectoryStep]) -> list[str]:
    """Empty ones where no step has any: WebVoyager's agents that look at screenshots keep none."""
    if not any(folder.glob("accessibility_tree*.txt")):
        return [""] * len(steps)
    return [_read_tree(folder, step.number) for step in steps]


def _read_tree(folder: Path, number: int) -> str:
    path = folder / f"accessibility_tree{number}.txt"
    try:
        return path.read_bytes().decode()  # as the agent saw it: text mode would change its line ends
    except FileNotFoundError:
        raise UserError(f"{folder}: {path.name} is missing") from None


def _text_of(messages: Sequence[dict[str, Any]]) -> str:
    """The text of the first message, "" when there is none."""
    for message in messages:
        content = message["content"]
        return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
    return ""


def _feedback_of(text: str) -> str:
    """The error sentence a released user turn opens with; its misspelt legacy form becomes the present one."""
    if FORMAT_ERROR in text:
        return FORMAT_ERROR
    if CANNOT_EXECUTE in text or _LEGACY_CANNOT_EXECUTE.search(text):
        return CANNOT_EXECUTE
    return ""


def answer_of(reply: str) -> str | None:
    """What a reply answers, None where it does not."""
    try:
        action = parse_reply(reply).action
    except ActionError:
        return None
    return action.content if isinstance(action, Answer) else None

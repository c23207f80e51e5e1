"""DigiRL's judge: looks at every step's screenshot; the first state called a success makes the trajectory one.

It needs no answer from the agent. A screenshot equal to the one before is not asked about again, unless the answer
comes with it. Of an agent that ran out of steps, the screen after its last step is a state, too, where the environment
kept it.

Source: DigiRL (arXiv 2406.11896), whose few-shot images are the authors' and not part of this repository. Three of its
ways are left out: its cache of seen images fails later successes on the same page, its threshold of 0.1 % of all pixels
overlooks a switch that was turned, and its search for `success` finds `unsuccessful`.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from collection.judges.asking import ask_verdict
from collection.judges.endpoint.endpoint import Endpoint, JudgeReply
from collection.judges.endpoint.voting import vote
from collection.judges.verdict_judge import VOTE_SEPARATOR, png_part
from collection.judges.verdicts.prompts import DIGIRL, Shown, case_text, prompt_hash
from collection.judges.verdicts.verdict import STATUS
from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import Trajectory, read_trajectory

NAME = "digirl"


@dataclasses.dataclass(frozen=True)
class StepJudge:
    """`num_trees` 1 shows each page's text as well."""

    endpoint: Endpoint
    num_trees: int = 0
    num_votes: int = 1
    name: str = NAME

    def __call__(self, task: Task, folder: Path) -> Outcome:
        """The verdict on a complete trajectory; raises JudgeFault when none comes."""
        trajectory = read_trajectory(folder)
        if (ended := trajectory.ended_by_others) is not None:
            return ended
        votes: list[JudgeReply] = []
        before = b""
        for number, screenshot in _states(trajectory):
            is_answered = number == len(trajectory.steps) and trajectory.answer is not None
            if screenshot == before and not is_answered:
                continue
            before = screenshot
            verdict, cast = vote(self._asker(task, trajectory, number, screenshot), self.num_votes)
            votes += cast
            if verdict is Verdict.SUCCESS:
                when = f"at step {number}" if number <= len(trajectory.steps) else "after the last step"
                return self._outcome(Verdict.SUCCESS, f"done {when}", votes)
        return self._outcome(Verdict.FAILURE, f"not done at any of {len(trajectory.steps)} steps", votes)

    def _asker(self, task: Task, trajectory: Trajectory, number: int, screenshot: bytes) -> Any:
        shown = Shown(num_images=1, num_trees=min(1, self.num_trees))
        answer = trajectory.answer if number == len(trajectory.steps) else None  # it comes with the last step
        steps, trees = trajectory.steps[:number], trajectory.trees[:number]
        seen = dataclasses.replace(trajectory, steps=steps, trees=trees, answer=answer)
        content = [{"type": "text", "text": case_text(task, seen, shown)}, png_part(screenshot)]
        return lambda temperature, seed: ask_verdict(self.endpoint, DIGIRL, content, STATUS, temperature, seed)

    def _outcome(self, verdict: Verdict, reason: str, votes: list[JudgeReply]) -> Outcome:
        raw, system = VOTE_SEPARATOR.join(reply.text for reply in votes), votes[-1].system if votes else DIGIRL
        return Outcome(verdict, reason, self.name, raw, prompt_hash(system))


def _states(trajectory: Trajectory) -> Iterator[tuple[int, bytes]]:
    """(step, its screenshot); the screen after the last step counts as one more."""
    for step in trajectory.steps:
        yield step.number, trajectory.screenshot(step.number).read_bytes()
    if trajectory.answer is None and (left := trajectory.final_screenshot()) is not None:
        yield len(trajectory.steps) + 1, left

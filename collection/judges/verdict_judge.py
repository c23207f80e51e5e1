"""Judges that look at the end of a trajectory and write a verdict: WebVoyager's and OpenWebVoyager's, and PAE's.

Source: WebVoyager (arXiv 2401.13919) and PAE (arXiv 2412.13194); wording and reading are our own.
"""

import base64
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collection.judges.asking import ask_verdict
from collection.judges.endpoint.endpoint import Endpoint, JudgeReply
from collection.judges.endpoint.voting import vote
from collection.judges.settled import settled_without_judge
from collection.judges.verdicts.prompts import Shown, case_text, prompt_hash, system_prompt
from collection.judges.verdicts.verdict import VERDICT
from data.outcome import Outcome
from data.task import Task
from data.trajectory import Trajectory, read_trajectory

VOTE_SEPARATOR = "\n----\n"


@dataclass(frozen=True)
class VerdictJudge:
    """One call per vote; an agent that did not answer has failed without a call, as published."""

    name: str
    endpoint: Endpoint
    prompt: str
    shown: Shown = field(default_factory=Shown)
    num_votes: int = 1

    def __call__(self, task: Task, folder: Path) -> Outcome:
        """The verdict on a complete trajectory; raises JudgeFault when none comes."""
        trajectory = read_trajectory(folder)
        if (settled := settled_without_judge(trajectory, self.name)) is not None:
            return settled
        system, content = system_prompt(self.prompt, self.shown), self.case(task, trajectory)

        def ask(temperature: float, seed: int) -> JudgeReply:
            return ask_verdict(self.endpoint, system, content, VERDICT, temperature, seed)

        verdict, votes = vote(ask, self.num_votes)
        return Outcome(
            verdict,
            reason=f"{self.name} of {self.endpoint.model}, {len(votes)} vote{'s' * (len(votes) > 1)}",
            judge=self.name,
            raw=VOTE_SEPARATOR.join(reply.text for reply in votes),
            prompt_hash=prompt_hash(votes[-1].system),
        )

    def case(self, task: Task, trajectory: Trajectory) -> list[dict[str, Any]]:
        """The user's turn: task, answer and screenshots."""
        images = [image_part(trajectory.screenshot(number)) for number in self.shown.image_steps(trajectory)]
        case = {"type": "text", "text": case_text(task, trajectory, self.shown)}
        return [case, *images, {"type": "text", "text": "Your verdict:\n"}]


def image_part(path: Path) -> dict[str, Any]:
    """A screenshot as OpenAI's content part."""
    return png_part(path.read_bytes())


def png_part(png: bytes) -> dict[str, Any]:
    """The same of a PNG's bytes."""
    url = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}

"""Judges that look at the end of a trajectory and write a verdict: WebVoyager's and OpenWebVoyager's, and PAE's.

Source: WebVoyager (arXiv 2401.13919) and PAE (arXiv 2412.13194); prompts and parsing are our own.
"""

import base64
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collection.judges.endpoint import Endpoint
from collection.judges.prompts import Shown, case_text, prompt_hash, system_prompt
from collection.judges.verdict import parse_verdict
from collection.judges.voting import vote
from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import INVALID, Trajectory, read_trajectory

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
        messages = self.messages(task, trajectory)

        def ask(temperature: float, seed: int) -> Any:
            return self.endpoint.ask(messages, parse_verdict, temperature, seed)

        verdict, texts = vote(ask, self.num_votes)
        return Outcome(
            verdict,
            reason=f"{self.name} of {self.endpoint.model}, {len(texts)} vote{'s' * (len(texts) > 1)}",
            judge=self.name,
            raw=VOTE_SEPARATOR.join(texts),
            prompt_hash=prompt_hash(messages[0]["content"]),
        )

    def messages(self, task: Task, trajectory: Trajectory) -> list[dict[str, Any]]:
        """The chat: system prompt, then task, answer and screenshots."""
        images = [image_part(trajectory.screenshot(number)) for number in self.shown.image_steps(trajectory)]
        case = {"type": "text", "text": case_text(task, trajectory, self.shown)}
        content = [case, *images, {"type": "text", "text": "Your verdict:\n"}]
        system = system_prompt(self.prompt, self.shown)
        return [{"role": "system", "content": system}, {"role": "user", "content": content}]


def settled_without_judge(trajectory: Trajectory, name: str) -> Outcome | None:
    """The outcome of trajectories on which there is nothing to judge: faults, and agents that did not answer."""
    if trajectory.status == INVALID:
        return Outcome(Verdict.INVALID, trajectory.reason or "the trajectory ended by a fault")
    if not trajectory.finished:
        return Outcome(Verdict.FAILURE, f"the agent did not answer in {len(trajectory.steps)} steps", name)
    return None


def image_part(path: Path) -> dict[str, Any]:
    """A screenshot as OpenAI's content part."""
    url = f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}

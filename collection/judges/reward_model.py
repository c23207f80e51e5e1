"""A trained outcome reward model behind our server's /score: success when P(YES) >= P(NO).

Source: WebRL (arXiv 2411.02337). `toolkits/make_reward_model_data.py` makes its training samples.
"""

import base64
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from collection.endpoints.chat_dialect import leads_away, no_endpoint
from collection.endpoints.keys import own_server_headers
from collection.judges.endpoint.faults import JudgeFault
from collection.judges.settled import settled_without_judge
from collection.judges.verdicts.prompts import prompt_hash
from common.errors import UserError
from common.network.bounded_http import BoundedClient
from common.network.retry import TransientError, retry
from common.shown.terminal import in_short
from data.outcome import Outcome, Verdict
from data.samples.reward_model import INSTRUCTION, NO, YES, probability_of_yes, reward_model_turn
from data.task import Task
from data.trajectory import read_trajectory

NAME = "orm"
TIMEOUT_S = 120.0
_LEAST = -math.inf


@dataclass(frozen=True)
class RewardModelJudge:
    """`url` is the /score address of a server that holds the reward model."""

    url: str
    name: str = NAME
    _client: BoundedClient = field(default_factory=lambda: _client(), repr=False)

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise UserError(f"--eval_score_url {self.url!r} is not a URL; it looks like http://127.0.0.1:8080/score")

    def __call__(self, task: Task, folder: Path) -> Outcome:
        """The verdict on a complete trajectory; raises JudgeFault when the server gives none."""
        trajectory = read_trajectory(folder)
        if (settled := settled_without_judge(trajectory, self.name)) is not None:
            return settled
        turn = reward_model_turn(task.ques, trajectory)
        image = base64.b64encode(trajectory.screenshot(trajectory.steps[-1].number).read_bytes()).decode()
        probability, version = self.probability(folder.name, turn.text, [image])
        verdict = Verdict.SUCCESS if probability >= 0.5 else Verdict.FAILURE
        raw = f"P(YES) = {probability:.4f}, weights {version}"
        return Outcome(verdict, raw, self.name, raw, prompt_hash(INSTRUCTION))

    def probability(self, name: str, text: str, images: list[str]) -> tuple[float, str]:
        """(P(YES) / (P(YES) + P(NO)), version of the weights) for a user turn."""
        conversations = [{"role": "user", "content": text}]
        request = {"id": name, "conversations": conversations, "images": images, "answers": [YES, NO]}
        try:
            answer = retry(lambda: self._post(request), TIMEOUT_S)
        except TransientError as error:
            raise JudgeFault(str(error)) from None
        try:
            yes, no = (score["logprob"] for score in answer["scores"])
        except (KeyError, TypeError, ValueError):
            raise JudgeFault(f"{self.url}: no two log-probabilities in the answer: {in_short(str(answer))}") from None
        if not all(type(one) in (int, float) and _LEAST <= one <= 0 for one in (yes, no)) or yes == no == _LEAST:
            raise JudgeFault(f"{self.url}: {in_short(f'{yes!r} and {no!r}')} are no log-probabilities")
        return probability_of_yes(yes, no), in_short(str(answer.get("weights_version", "")))

    def _post(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            answer = self._client.post(self.url, json=request)
        except httpx.HTTPError as error:
            raise TransientError(f"{self.url}: {error or type(error).__name__}") from None
        if answer.status_code in (401, 403):
            raise UserError(
                f"{self.url} refused the key (HTTP {answer.status_code}); set ELCANO_API_KEY to the server's"
            )
        if answer.status_code in (429, 502, 503, 504):
            raise TransientError(f"{self.url}: HTTP {answer.status_code}")
        if answer.status_code != 200:
            said = no_endpoint(answer.text) if leads_away(answer) else in_short(answer.text)
            raise JudgeFault(f"{self.url}: HTTP {answer.status_code}: {said}")
        try:
            return answer.json()
        except ValueError:
            raise JudgeFault(f"{self.url}: {no_endpoint(answer.text)}") from None


def _client() -> BoundedClient:
    return BoundedClient(timeout=TIMEOUT_S, trust_env=False, headers=own_server_headers())

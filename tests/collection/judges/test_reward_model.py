"""The outcome reward model: it is trained on what it judges by, and its server's words are read with care."""

import json

import pytest

from collection.judges.endpoint.faults import JudgeFault
from collection.judges.reward_model import RewardModelJudge
from common.network import retry
from data.outcome import Outcome, Verdict
from data.trajectory import write_outcome
from tests.answering import Request, answering
from tests.collection.judges.test_judges import QUESTIONS, record
from toolkits.make_reward_model_data import Config, main

PRICE = QUESTIONS[0]


class Server:
    """Answers every /score with `answer`; keeps the requests."""

    def __init__(self):
        self.answer: tuple[int, dict] = (200, {})
        self.requests: list[dict] = []

    def __call__(self, request: Request) -> tuple[int, dict]:
        self.requests.append(request.body)
        return self.answer


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(retry, "FIRST_PAUSE_S", 0.01)
    server = Server()
    with answering(server) as server.url:
        yield server


def judge_of(server) -> RewardModelJudge:
    return RewardModelJudge(f"{server.url}/score")


@pytest.mark.parametrize(
    ("yes", "no", "verdict"), [(-0.1, -2.4, "success"), (-3.0, -0.1, "failure"), (-1, -1, "success")]
)
def test_the_likelier_answer_is_the_verdict(tmp_path, server, yes, no, verdict):
    server.answer = 200, {"scores": [{"logprob": yes}, {"logprob": no}], "weights_version": "7"}
    outcome = judge_of(server)(PRICE, record(tmp_path, PRICE, "42"))
    assert outcome.verdict == verdict and outcome.raw.startswith("P(YES) = ") and outcome.judge == "orm"
    (request,) = server.requests
    assert request["answers"] == ["YES", "NO"] and len(request["images"]) == 1
    assert request["conversations"][0]["content"].count("<image>") == 1 and PRICE.ques in str(request)


def test_it_is_trained_on_what_it_judges_by(tmp_path, server):
    server.answer = 200, {"scores": [{"logprob": 0}, {"logprob": 0}]}
    for number, task in enumerate(QUESTIONS[:6]):
        verdict = (Verdict.SUCCESS, Verdict.FAILURE, Verdict.FAILURE, Verdict.INVALID)[number % 4]
        write_outcome(record(tmp_path / "runs", task, "<image> 42"), Outcome(verdict))
    judge_of(server)(QUESTIONS[0], tmp_path / "runs" / f"task{QUESTIONS[0].id}")
    main(Config((tmp_path / "runs",), tmp_path / "images", tmp_path / "samples.json"))
    samples = json.loads((tmp_path / "samples.json").read_text())
    assert sorted(sample["conversations"][1]["value"] for sample in samples) == ["NO", "NO", "YES", "YES"]
    assert all((tmp_path / "images" / sample["images"][0]).exists() for sample in samples)
    asked = server.requests[0]["conversations"][0]["content"]
    assert asked in [sample["conversations"][0]["value"] for sample in samples]


@pytest.mark.parametrize("answer", [(200, {}), (200, {"scores": [{"logprob": "x"}] * 2}), (400, {}), (503, {})])
def test_a_server_that_does_not_answer_well_is_no_failure(tmp_path, server, answer):
    server.answer = answer
    with pytest.raises(JudgeFault):
        judge_of(server)(PRICE, record(tmp_path, PRICE, "42"))
    assert len(server.requests) == (retry.MAX_ATTEMPTS if answer[0] == 503 else 1)


@pytest.mark.parametrize("logprob", [True, "0", "inf", float("inf"), float("nan"), 5, 10**400, None, [], {}])
def test_what_is_no_log_probability_is_no_verdict(tmp_path, server, logprob):
    server.answer = 200, {"scores": [{"logprob": logprob}, {"logprob": -1}]}
    with pytest.raises(JudgeFault):
        judge_of(server)(PRICE, record(tmp_path, PRICE, "42"))

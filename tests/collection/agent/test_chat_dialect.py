"""Models that refuse `max_tokens` or a temperature are asked as they want it, at the price of one refused request."""

import asyncio
from pathlib import Path

import openai
import pytest

from collection.agent.chat_policy import ChatPolicy
from collection.agent.documents import DocumentReader
from collection.agent.policy import PolicyError, Sampling
from collection.endpoints.chat_dialect import ChatDialect
from collection.judges.endpoint.endpoint import Endpoint
from collection.judges.endpoint.faults import JudgeFault
from collection.judges.endpoint.ledger import Budget, Ledger
from collection.judges.endpoint.reply_cache import ReplyCache
from data.conversation import StepText
from data.task import Task
from environments.sites.expert import expert
from tests.collection.endpoints import picky, serving

TASK = Task("t", "Find it.", "http://a.localhost/")


def judge(url: str, folder: Path) -> Endpoint:
    ledger = Ledger(folder / "costs.jsonl", Budget(None, None, None))
    return Endpoint("m", "k", url, ReplyCache(folder / "replies"), ledger)


def question(number: int) -> list[dict]:
    return [{"role": "user", "content": f"Question {number}?"}]


@pytest.mark.parametrize("bare", [False, True])
def test_a_judge_that_wants_max_completion_tokens_and_its_own_temperature(tmp_path: Path, bare: bool) -> None:
    with picky("max_tokens", "temperature", bare=bare) as endpoint:
        asked = judge(endpoint.url, tmp_path)
        replies = [asked.ask(question(number), lambda text: text) for number in range(3)]
    assert [reply.text for reply in replies] == ["SUCCESS"] * 3
    assert len(endpoint.bodies) == 2 + 3  # each parameter is refused once
    for body in endpoint.bodies[2:]:
        assert body["max_completion_tokens"] == 1000 and not {"max_tokens", "temperature"} & set(body)
    assert asked.ledger.report()["answered"] == 3


def test_a_policy_and_a_reader_of_documents_are_asked_so_too(tmp_path: Path) -> None:
    async def go(url: str) -> str:
        policy = ChatPolicy("m", "k", url, Sampling(temperature=0.5))
        steps = [StepText("[1] RootWebArea 'x'")]
        replies = [await policy.reply(TASK, "f", steps, {1: ""}, seed) for seed in (1, 2)]
        await policy.close()
        # what was left out in the end was not applied
        assert [reply.sampling for reply in replies] == [{"max_new_tokens": 1000, "seed": seed} for seed in (1, 2)]
        reader = DocumentReader("m", "k", url)
        return replies[0].text + await reader._ask("the text", "the question")

    with picky("max_tokens", "temperature") as endpoint:
        assert asyncio.run(go(endpoint.url)) == "SUCCESSSUCCESS"
        assert [("max_tokens" in body) for body in endpoint.bodies] == [True, False, False, False, True, False]


def test_a_server_that_knows_max_tokens_alone_is_asked_with_it(tmp_path: Path) -> None:
    with picky("max_completion_tokens") as endpoint:
        assert judge(endpoint.url, tmp_path).ask(question(1), lambda text: text).text == "SUCCESS"
        [body] = endpoint.bodies
    assert body["max_tokens"] == 1000 and body["temperature"] == 0


def test_openai_itself_is_asked_with_the_new_name_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    for url in ("", "https://api.openai.com/v1"):
        assert ChatDialect(url).body({"model": "m", "max_tokens": 7}) == {"model": "m", "max_completion_tokens": 7}
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert ChatDialect("").body({"max_tokens": 7}) == {"max_tokens": 7}


def test_what_refuses_everything_ends(tmp_path: Path) -> None:
    """Both names, or something that cannot be left out: the error is the endpoint's own."""
    with picky("max_tokens", "max_completion_tokens") as endpoint:
        with pytest.raises(JudgeFault, match="max_completion_tokens"):
            judge(endpoint.url, tmp_path).ask(question(1), lambda text: text)
        assert len(endpoint.bodies) == 2
    with picky("messages") as endpoint:
        policy = ChatPolicy("m", "k", endpoint.url, Sampling())
        with pytest.raises(PolicyError, match="HTTP 400"):
            asyncio.run(policy.reply(TASK, "f", [StepText("[1] x")], {1: ""}, 1))
        assert len(endpoint.bodies) == 1


def test_a_teacher_asked_with_the_trained_prompt_says_what_it_wants() -> None:
    """Its own words, without the package's around them."""
    step = StepText("[1] RootWebArea 'Shop - x'")
    with serving(lambda messages, _: expert.reply(messages)) as endpoint, pytest.raises(PolicyError) as refused:
        policy = ChatPolicy("m", "k", endpoint.url, Sampling(prompt="trained", text_only=True))
        asyncio.run(policy.reply(TASK, "x", [step], {}, None))
    said = "no user message says 'Now given a task: ...'; the embedded teacher wants the chat prompt: --prompt chat"
    assert str(refused.value) == f"HTTP 400: {said}"


def test_refusals_of_other_kinds_teach_nothing() -> None:
    dialect, sent = ChatDialect("http://x/v1"), {"max_tokens": 7, "temperature": 0}
    for text in ("max_tokens is too large: 7", "context length exceeded", "the temperature of the room"):
        response = openai.BadRequestError.__new__(openai.BadRequestError)
        response.message, response.param, response.code = text, None, None
        assert not dialect.learn(response, sent)
    assert dialect.body(sent) == sent

"""A policy behind vLLM or SGLang: prompts are the trainer's, what was drawn is kept, what they refuse is a fault."""

import asyncio
import base64
import io
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from PIL import Image

from collection.agent.chat_policy import ChatPolicy
from collection.agent.documents import DocumentReader
from collection.agent.policy import Completion, PolicyError, Sampling
from common.errors import UserError
from common.network.retry import MAX_ATTEMPTS
from data.conversation import StepText, build_conversation
from data.task import Task
from data.trajectory import read_trajectory
from models.processor import load_processor
from models.registry import family
from models.tokens.encoding import ConversationEncoder, Tokens
from models.tokens.sampled import SampledReply
from tests.collection.agent.engine_stand_in import MODEL, VERSION, Dialect, Engine, serving
from tests.collection.collector import Collector, task
from tests.collection.endpoints import picky
from tests.environments import website
from tests.tiny import qwen3_vl

TASK = Task("t", "Find it.", "http://a.example/")
STEPS = [
    StepText("[1] link 'a <|image_pad|> of ours <|im_end|>'", reply="Thought: <|vision_start|>\n\nAction: Click [1]"),
    StepText("[2] link 'second'", feedback="It is <tool_call>."),
]
REPLY = "Thought: é!\n\nAction: Click [2]"
SAMPLING = Sampling(prompt="trained", last_n=2, temperature=1.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return qwen3_vl.build_policy(tmp_path_factory.mktemp("policy"), layers=3)


@pytest.fixture
def make(folder: Path) -> Callable[[Dialect], Engine]:
    return lambda dialect: Engine(folder, dialect, lambda turns: REPLY)


def screenshots() -> dict[int, str]:
    buffers = {number: io.BytesIO() for number in (1, 2)}
    for number, buffer in buffers.items():
        Image.new("RGB", (40 * number, 60), "red").save(buffer, "PNG")
    return {number: base64.b64encode(buffer.getvalue()).decode() for number, buffer in buffers.items()}


def ask(url: str, model: str = MODEL, times: int = 1) -> list[Completion]:
    async def go() -> list[Completion]:
        policy = ChatPolicy(model, "none", url, SAMPLING)
        await policy.check()
        replies = [await policy.reply(TASK, "f", STEPS, screenshots(), seed) for seed in range(times)]
        await policy.close()
        return replies

    return asyncio.run(go())


def trained(folder: Path, reply: Completion) -> Tokens:
    """As the trainer reads the sample that is made of this."""
    processor, kind = load_processor(folder), family(folder)
    images = kind.image_encoder(processor, kind.read_config(folder))
    turns = build_conversation(TASK.ques, STEPS, SAMPLING.last_n).turns
    said = [{"from": {"user": "human", "assistant": "gpt"}[turn.role], "value": turn.text} for turn in turns]
    sampled = SampledReply(reply.token_ids, reply.logprobs)
    encoder = ConversationEncoder(processor, images, 4096, 2, "answer")
    return encoder.encode("s", [*said, {"from": "gpt", "value": reply.text}], [(60, 40), (60, 80)], sampled)


@pytest.mark.parametrize("dialect", ["vllm", "sglang"])
def test_an_engine_reads_what_is_trained_and_its_tokens_are_kept(
    folder: Path, make: Callable[[Dialect], Engine], dialect: Dialect, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pages and replies that spell its special tokens, images of two sizes, an earlier reply."""
    engine = make(dialect)
    with serving(engine) as url:
        reply, _ = ask(url, times=2)
    assert (reply.text, reply.token_ids, reply.logprobs) == (REPLY, engine.drawn[0], engine.logprobs[0])
    assert reply.prompt_tokens == len(engine.prompts[0])
    assert reply.sampling == {"temperature": 1.0, "seed": 0, "max_new_tokens": 256}
    tokens = trained(folder, reply)
    assert tokens.ids.tolist() == engine.prompts[0] + engine.drawn[0]
    assert tokens.loss_mask.sum() == len(engine.drawn[0])
    assert tokens.behavior_logprobs[tokens.loss_mask].equal(torch.tensor(engine.logprobs[0]))
    assert reply.weights_version == (VERSION if dialect == "sglang" else "")
    [told] = capsys.readouterr().err.splitlines()
    assert "`logprob` alone" in told and ("no version of its weights" in told) == (dialect == "vllm")


def test_what_an_engine_does_not_give_is_told_once(
    make: Callable[[Dialect], Engine], capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(make("sglang before return_token_ids")) as url:
        replies = ask(url, times=2)
    assert [(reply.text, reply.token_ids, reply.logprobs) for reply in replies] == [(REPLY, None, None)] * 2
    [told] = capsys.readouterr().err.splitlines()
    assert told.startswith(f"{url}/ gives no token ids: training tokenizes replies anew")
    with picky("return_token_ids", "logprobs") as endpoint:
        ask(endpoint.url, times=2)
    assert len(endpoint.bodies) == 2 + 2  # each is refused once
    [told] = capsys.readouterr().err.splitlines()
    assert "no token ids" in told


def test_errors_of_engines_are_faults_as_those_of_our_server(make: Callable[[Dialect], Engine]) -> None:
    too_long = {"vllm": "maximum context length is 300 tokens", "sglang": "longer than the model's"}
    for (dialect, said), busy in zip(too_long.items(), (503, 429), strict=True):
        engine = make(dialect)
        engine.faults = [busy]
        with serving(engine) as url:
            assert ask(url)[0].text == REPLY and len(engine.bodies) == 2
            engine.max_model_len = 300
            with pytest.raises(PolicyError, match=f"^HTTP 400: .*{said}"):
                ask(url)
    with serving(make("vllm")) as url, pytest.raises(UserError, match="does not know --api_model other"):
        ask(url, model="other")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"error": {"message": "Provider returned error", "code": 502}}', "Provider returned error"),
        ('{"choices": []}', "no reply in the answer"),
        ('{"choices": [{"index": 0, "message": null}]}', "no reply in the answer"),
        ('{"choices": [{"index": 0, "mess', "cut off"),
        ("", "cut off"),
        ("null", "no reply in the answer"),
    ],
)
def test_an_answer_without_a_reply_is_asked_for_again(
    make: Callable[[Dialect], Engine], monkeypatch: pytest.MonkeyPatch, body: str, said: str
) -> None:
    """Gateways report an engine's error with HTTP 200."""
    monkeypatch.setattr("common.network.retry.FIRST_PAUSE_S", 0.01)
    engine = make("vllm")
    engine.faults = [body]
    with serving(engine) as url:
        assert ask(url)[0].text == REPLY
        engine.faults = [body] * MAX_ATTEMPTS
        with pytest.raises(PolicyError, match=said):
            ask(url)
        engine.faults = [body]
        assert asyncio.run(DocumentReader(MODEL, "none", url)._ask("the text", "the question")) == ""


def test_token_ids_that_are_none_are_not_kept(make: Callable[[Dialect], Engine]) -> None:
    engine = make("vllm")
    choice = '"index": 0, "message": {"role": "assistant", "content": "x"}'
    logprobs = '{"content": [{"token": "x", "logprob": null}]}'
    engine.faults = [
        f'{{"choices": [{{{choice}, "token_ids": {ids}, "logprobs": {logprobs}}}]}}' for ids in ('"7"', "[7]")
    ]
    with serving(engine) as url:
        replies = ask(url, times=2)
    assert [(reply.text, reply.token_ids, reply.logprobs) for reply in replies] == [("x", None, None), ("x", [7], None)]


def test_a_run_keeps_what_vllm_drew(collector: Collector, folder: Path, url: str) -> None:
    engine = Engine(folder, "vllm", website.reply, max_model_len=8192)
    tasks = [task(1, f"{url}/", "Click {Next page} | ANSWER; done")]
    with serving(engine) as base:
        done = collector.run(tasks, api_base=base, api_model=MODEL, prompt="trained", max_attached_imgs=2)
    assert done.returncode == 0, done.stderr
    steps = read_trajectory(collector.results / "taskT--1").steps
    assert [step.token_ids for step in steps] == engine.drawn and len(steps) == 2
    assert [step.logprobs for step in steps] == engine.logprobs
    assert done.stderr.count("no version of its weights") == 1

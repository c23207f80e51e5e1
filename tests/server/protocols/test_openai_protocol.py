"""The OpenAI protocol, spoken by the `openai` client."""

from types import SimpleNamespace
from typing import Any

import openai
import pytest

from common.seeds import derive_seed
from server.service import Started
from tests.server.helpers import RunningServer, png, screenshot


@pytest.fixture
def client(server: RunningServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)


def messages(url: str | None = None) -> list[dict[str, Any]]:
    url = url or f"data:image/png;base64,{png(screenshot(1))}"
    content = [
        {"type": "text", "text": "OBSERVATION:\n"},
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "text", "text": "\n[1] link 'home <image>'"},
    ]
    return [{"role": "system", "content": "You browse."}, {"role": "user", "content": content}]


def test_a_reply_equals_predicts(client: openai.OpenAI, server: RunningServer) -> None:
    reply = client.chat.completions.create(model="policy", messages=messages(), temperature=0, max_tokens=12)
    turns = [
        {"role": "system", "content": "You browse."},
        {"role": "user", "content": "OBSERVATION:\n<image>\n[1] link 'home < image>'"},
    ]
    predict = {"conversations": turns, "images": [png(screenshot(1))], "temperature": 0, "max_new_tokens": 12}
    _, expected = server.post("/predict", predict)
    assert reply.choices[0].message.content == expected["text"]
    assert reply.choices[0].finish_reason == "length"
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (expected["prompt_tokens"], 12)
    assert reply.weights_version == expected["weights_version"]


def test_logprobs(client: openai.OpenAI) -> None:
    choice = client.chat.completions.create(
        model="policy", messages=messages(), seed=1, max_tokens=6, logprobs=True
    ).choices[0]
    assert len(choice.logprobs.content) == len(choice.token_ids) == 6
    assert all(entry.logprob <= 0 for entry in choice.logprobs.content)


def test_a_stream_adds_up_to_the_reply(client: openai.OpenAI) -> None:
    options = {"model": "policy", "messages": messages(), "seed": 3, "max_tokens": 20}
    whole = client.chat.completions.create(**options)
    chunks = list(client.chat.completions.create(**options, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == whole.choices[0].message.content
    assert chunks[-1].choices[0].finish_reason == whole.choices[0].finish_reason
    assert len(chunks) > 3 and not any("usage" in chunk.model_fields_set for chunk in chunks)
    *chunks, last = client.chat.completions.create(**options, stream=True, stream_options={"include_usage": True})
    assert (last.choices, last.usage) == ([], whole.usage)
    assert all(chunk.usage is None and chunk.choices for chunk in chunks)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"messages": messages("http://127.0.0.1/a.png")}, "must be a data URL"),
        ({"messages": messages("data:image/png;base64,%%")}, "not valid base64"),
        ({"messages": []}, "messages"),
        ({"n": 0}, "n: "),
        ({"stop": [""]}, "stop takes"),
        ({"max_tokens": -2}, "max_tokens: "),
        ({"temperature": -1}, "temperature must be 0 to 100, not -1"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "lacks its 'text'"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_bad_requests(client: openai.OpenAI, change: dict[str, Any], message: str, stream: bool) -> None:
    with pytest.raises(openai.BadRequestError, match=message):
        client.chat.completions.create(**{"model": "policy", "messages": messages(), "stream": stream} | change)


def test_models(client: openai.OpenAI) -> None:
    [listed] = client.models.list()
    assert (listed.id, listed.owned_by) == ("policy", "elcano") and listed.created > 1.6e9
    assert client.models.retrieve("policy") == listed
    with pytest.raises(openai.NotFoundError) as refused:
        client.models.retrieve("gpt-4o")
    assert (refused.value.code, refused.value.param) == ("model_not_found", "model")


def test_several_replies_and_their_seeds(client: openai.OpenAI) -> None:
    options = {"model": "policy", "messages": messages(), "temperature": 1.0, "max_tokens": 8}
    together = client.chat.completions.create(**options, n=3, seed=5)
    seeds = (5, derive_seed(5, 1), derive_seed(5, 2))  # 6 and 7 are what other requests begin with
    alone = [client.chat.completions.create(**options, seed=seed).choices[0].message.content for seed in seeds]
    assert [choice.message.content for choice in together.choices] == alone
    assert [choice.index for choice in together.choices] == [0, 1, 2]
    assert together.usage.completion_tokens == 24
    streamed = {0: "", 1: "", 2: ""}
    for chunk in client.chat.completions.create(**options, n=3, seed=5, stream=True):
        streamed[chunk.choices[0].index] += chunk.choices[0].delta.content or ""
    assert list(streamed.values()) == alone


@pytest.mark.parametrize("stream", [False, True])
def test_a_stop_string_ends_the_reply_and_is_not_part_of_it(client: openai.OpenAI, stream: bool) -> None:
    options = {"model": "policy", "messages": messages(), "seed": 3, "max_tokens": 20}
    free = client.chat.completions.create(**options).choices[0].message.content
    stop = free[len(free) // 2 :][:4]
    expected = free[: free.index(stop)]
    answer = client.chat.completions.create(**options, stop=["never said", stop], stream=stream)
    if stream:
        chunks = [chunk.choices[0] for chunk in answer]
        assert "".join(choice.delta.content or "" for choice in chunks) == expected
        assert chunks[-1].finish_reason == "stop"
    else:
        assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == (expected, "stop")


def test_white_space_may_begin_or_end_a_stop_string() -> None:
    """Though what is around a reply is stripped."""
    model = SimpleNamespace(decode_text="".join)
    started = Started(SimpleNamespace(model=model), [], ["\nObservation", "\n\n"], None)
    assert started.text(["\n", "Observation: more"]) == ""
    assert started.text([" Thought: x", "\n\n", "Action"]) == started.text([" Thought: x", "\n\n"]) == "Thought: x"


def test_streamed_token_ids_and_logprobs(client: openai.OpenAI) -> None:
    options = {"model": "policy", "messages": messages(), "seed": 3, "max_tokens": 12, "logprobs": True}
    whole = client.chat.completions.create(**options).choices[0]
    chunks = [chunk.choices[0] for chunk in client.chat.completions.create(**options, stream=True)]
    streamed = [chunk for chunk in chunks if chunk.logprobs]
    assert [token for chunk in streamed for token in chunk.token_ids] == whole.token_ids
    logprobs = [entry.logprob for chunk in streamed for entry in chunk.logprobs.content]
    assert logprobs == pytest.approx([entry.logprob for entry in whole.logprobs.content], abs=1e-4)
    bare = client.chat.completions.create(**options | {"logprobs": False}, extra_body={"return_token_ids": True})
    assert bare.choices[0].token_ids == whole.token_ids and bare.choices[0].logprobs is None

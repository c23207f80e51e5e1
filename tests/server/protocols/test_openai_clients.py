"""Other people's clients against the real server: `litellm` and `langchain-openai` beside `openai`."""

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else its import asks the network for prices
import litellm
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI

from tests.server.helpers import RunningServer, png, screenshot, wait_for

pytestmark = pytest.mark.filterwarnings("ignore:Accessing the 'model_")  # litellm's own use of pydantic

PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png(screenshot(1))}"}}
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "You browse."},
    {"role": "user", "content": [PICTURE, {"type": "text", "text": "Find a shoe."}]},
]
SAID = [SystemMessage(MESSAGES[0]["content"]), HumanMessage(MESSAGES[1]["content"])]


@pytest.fixture(scope="module")
def expected(server: RunningServer) -> dict[str, Any]:
    body = {"messages": MESSAGES, "temperature": 0, "max_tokens": 12, "logprobs": True, "top_logprobs": 3}
    status, reply = server.post("/v1/chat/completions", body)
    assert status == 200
    return reply["choices"][0]


@pytest.fixture(scope="module")
def keyed(start_server: Callable[..., RunningServer], tiny_policy: Path) -> RunningServer:
    return start_server(tiny_policy, "--api_key", "s3cret")


def with_litellm(server: RunningServer, **options: Any) -> Any:
    how = {"model": "openai/policy", "api_base": f"{server.url}/v1", "api_key": "none", "num_retries": 0}
    return litellm.completion(**{"messages": MESSAGES, "temperature": 0, "max_tokens": 12, **how, **options})


def with_langchain(server: RunningServer, **options: Any) -> ChatOpenAI:
    how = {"model": "policy", "base_url": f"{server.url}/v1", "api_key": "none", "max_retries": 0}
    return ChatOpenAI(**{"temperature": 0, "max_tokens": 12, **how, **options})


def test_litellm(server: RunningServer, expected: dict[str, Any]) -> None:
    reply = with_litellm(server, logprobs=True, top_logprobs=3)
    assert reply.choices[0].message.content == expected["message"]["content"]
    assert reply.usage.completion_tokens == 12
    entries = reply.choices[0].logprobs.content
    assert [entry.token for entry in entries] == [entry["token"] for entry in expected["logprobs"]["content"]]
    assert all(len(entry.top_logprobs) == 3 and entry.logprob <= 0 for entry in entries)
    chunks = list(with_litellm(server, stream=True, stream_options={"include_usage": True}))
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert said == expected["message"]["content"]
    assert chunks[-1].usage.completion_tokens == 12
    several = with_litellm(server, n=2, temperature=1, seed=1, stop=["zzz"], user="episode 1")
    assert len(several.choices) == 2


def test_langchain(server: RunningServer, expected: dict[str, Any]) -> None:
    model = with_langchain(server, logprobs=True, top_logprobs=3)
    reply = model.invoke(SAID)
    assert reply.content == expected["message"]["content"]
    assert reply.usage_metadata["output_tokens"] == 12 and reply.response_metadata["model_name"] == "policy"
    entries = reply.response_metadata["logprobs"]["content"]
    assert [entry["bytes"] for entry in entries] == [entry["bytes"] for entry in expected["logprobs"]["content"]]
    streamed = list(with_langchain(server, stream_usage=True).stream(SAID))
    assert "".join(chunk.content for chunk in streamed) == expected["message"]["content"]
    assert sum(chunk.usage_metadata["output_tokens"] for chunk in streamed if chunk.usage_metadata) == 12
    call = {"name": "click", "args": {"id": 3}, "id": "c1"}
    history = [
        *SAID,
        AIMessage("", tool_calls=[call]),
        ToolMessage("clicked", tool_call_id="c1"),
        HumanMessage("go on"),
    ]
    assert with_langchain(server).invoke(history).content


def test_openai_reads_log_probabilities_and_a_replys_message_can_be_sent_back(server: RunningServer) -> None:
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
    how = {"model": "policy", "messages": MESSAGES, "max_completion_tokens": 6, "temperature": 0}
    choice = client.chat.completions.create(**how, logprobs=True, top_logprobs=5).choices[0]
    for entry in choice.logprobs.content:
        assert isinstance(entry.token, str) and bytes(entry.bytes).decode(errors="replace") == entry.token
        assert len(entry.top_logprobs) == 5 and math.exp(entry.top_logprobs[0].logprob) <= 1
        assert entry.sampling_logprob == 0.0
    again = [*MESSAGES, choice.message.model_dump(), {"role": "user", "content": "go on"}]
    assert client.chat.completions.create(**how | {"messages": again}).choices[0].message.content


def test_tools_and_schemas_through_all(server: RunningServer) -> None:
    """The message that calls goes back with what the tool answered."""
    schema = {"type": "object", "properties": {"id": {"type": "integer", "minimum": 0, "maximum": 9}}}
    schema |= {"required": ["id"], "additionalProperties": False}
    tool = {"type": "function", "function": {"name": "click", "parameters": schema}}
    [call] = (
        with_litellm(server, tools=[tool], tool_choice="required", parallel_tool_calls=False, max_tokens=99)
        .choices[0]
        .message.tool_calls
    )
    assert call.function.name == "click" and 0 <= json.loads(call.function.arguments)["id"] <= 9
    model = with_langchain(server, max_tokens=99).bind_tools([tool], tool_choice="click")
    asked = model.invoke(SAID)
    assert asked.tool_calls[0]["name"] == "click" and asked.tool_calls[0]["args"]["id"] in range(10)
    answer = ToolMessage("clicked", tool_call_id=asked.tool_calls[0]["id"])
    assert model.invoke([*SAID, asked, answer]).tool_calls
    read = with_langchain(server, max_tokens=99).with_structured_output(
        {"title": "Click", **schema}, method="json_schema"
    )
    assert read.invoke(SAID)["id"] in range(10)


def test_errors_become_the_clients_own(server: RunningServer, keyed: RunningServer) -> None:
    with pytest.raises(litellm.NotFoundError, match="gpt-4o"):
        with_litellm(server, model="openai/gpt-4o")
    with pytest.raises(openai.NotFoundError, match="gpt-4o"):
        with_langchain(server, model="gpt-4o").invoke(SAID)
    with pytest.raises(litellm.AuthenticationError):
        with_litellm(keyed)
    with pytest.raises(openai.AuthenticationError) as refused:
        with_langchain(keyed).invoke(SAID)
    assert refused.value.code == "invalid_api_key"
    assert with_langchain(keyed, api_key="s3cret").invoke(SAID).content


def test_a_full_queue_is_a_rate_limit(start_server: Callable[..., RunningServer], tiny_policy: Path) -> None:
    flags = ("--max_batch_size", "1", "--max_queue", "1", "--min_new_tokens", "3500")
    running = start_server(tiny_policy, *flags)
    client = openai.OpenAI(base_url=f"{running.url}/v1", api_key="none", max_retries=0)
    long = {"model": "policy", "messages": MESSAGES, "max_tokens": 3500, "stream": True}
    with client.chat.completions.create(**long):
        wait_for(lambda: running.get("/health")["num_running"] == 1)
        with client.chat.completions.create(**long):
            with pytest.raises(openai.RateLimitError) as refused:
                client.chat.completions.create(model="policy", messages=MESSAGES)
            assert refused.value.code == "rate_limit_exceeded" and int(refused.value.response.headers["retry-after"])
            with pytest.raises(litellm.RateLimitError):
                with_litellm(running, max_retries=0)
    running.process.kill()

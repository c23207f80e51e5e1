"""No silent differences from OpenAI's protocol: every field is honored, harmless as given, or refused by name."""

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai.types.chat import completion_create_params

from server.openai_request import ChatRequest
from tests.server.helpers import RunningServer, png, screenshot

USER = {"role": "user", "content": "Find a shoe."}
TOOL = {"type": "function", "function": {"name": "click", "parameters": {"type": "object", "properties": {}}}}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}

# Of each official field that is not served: values that ask for nothing, and values that ask for something.
NOT_SERVED: dict[str, tuple[list[Any], list[Any]]] = {
    "audio": ([], [{"voice": "alloy", "format": "wav"}]),
    "frequency_penalty": ([0, 0.0], [0.5, -1, True]),
    "function_call": (["none"], [{"name": "click"}]),
    "functions": ([[]], [[{"name": "click"}]]),
    "logit_bias": ([{}], [{"50256": -100}]),
    "metadata": ([{}], [{"run": "1"}]),
    "modalities": ([["text"]], [["text", "audio"]]),
    "moderation": ([], [{"model": "omni-moderation-latest"}]),
    "parallel_tool_calls": ([True, False], [3]),
    "prediction": ([], [{"type": "content", "content": "x"}]),
    "presence_penalty": ([0], [0.1]),
    "prompt_cache_options": ([{}], [{"mode": "explicit"}]),
    "prompt_cache_retention": (["in_memory"], ["24h"]),
    "reasoning_effort": (["none"], ["high"]),
    "response_format": ([{"type": "text"}], [{"type": "json_object"}, SCHEMA]),
    "service_tier": (["auto", "default"], ["flex"]),
    "store": ([False], [True, 0]),
    "tool_choice": (["none", "auto"], ["required", {"type": "function", "function": {"name": "click"}}]),
    "tools": ([[]], [[TOOL]]),
    "verbosity": (["medium"], ["low"]),
    "web_search_options": ([], [{}]),
}


def ask(server: RunningServer, **fields: Any) -> tuple[int, dict[str, Any]]:
    return server.post("/v1/chat/completions", {"messages": [USER], "temperature": 0, "max_tokens": 3} | fields)


def refusal(answer: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    status, body = answer
    assert status == 400 and set(body) == {"error"} and set(body["error"]) == {"message", "type", "param", "code"}
    assert "\n" not in body["error"]["message"]
    return body["error"]


def test_every_official_field_is_known() -> None:
    """A newer openai package with further fields fails here, so that each gets its decision."""
    base, streaming = completion_create_params.CompletionCreateParamsBase, "stream"
    assert {*base.__annotations__, streaming} == {*NOT_SERVED} | {
        name for name in ChatRequest.model_fields if name not in ("return_token_ids", "timeout_s")
    }


@pytest.mark.parametrize("name", NOT_SERVED)
def test_what_is_not_served_is_refused_by_name_and_harmless_values_pass(server: RunningServer, name: str) -> None:
    harmless, asking = NOT_SERVED[name]
    for value in [None, *harmless]:
        assert ask(server, **{name: value})[0] == 200, value
    for value in asking:
        error = refusal(ask(server, **{name: value}))
        assert error["param"] == name and name in error["message"] and error["type"] == "invalid_request_error"
        assert error["code"] in ("unsupported_parameter", "unsupported_value")


@pytest.mark.parametrize(
    "fields, param, code",
    [
        ({"best_of": 2}, "best_of", "unknown_parameter"),
        ({"top_k": 5}, "top_k", "unknown_parameter"),
        ({"top_logprobs": 2}, "top_logprobs", None),
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs", None),
        ({"max_tokens": 0}, "max_tokens", None),
        ({"max_completion_tokens": 4}, "max_tokens", None),
        ({"stream_options": {"include_obfuscation": True}}, "stream_options.include_obfuscation", "unsupported_value"),
        ({"stream_options": {"frequency": 1}}, "stream_options.frequency", None),
        ({"temperature": 1e9}, "temperature", None),
        ({"messages": None}, "messages", None),
        ({"messages": [{"role": "oracle", "content": "x"}]}, "messages[0].role", None),
        ({"messages": [USER | {"name": "Ann"}]}, "messages[0].name", "unsupported_parameter"),
        ({"messages": [USER | {"content": None}]}, "messages[0].content", None),
        ({"messages": [USER | {"tool_calls": [{"function": {"name": "a", "arguments": ""}}]}]}, "messages[0]", None),
        ({"messages": [USER | {"content": [{"type": "file", "file": {}}]}]}, "messages[0].content[0].type", None),
        ({"messages": [USER | {"content": [{"type": "text"}]}]}, "messages[0].content[0].text", None),
        (
            {"messages": [USER | {"content": [{"type": "image_url", "image_url": {"url": "", "detail": "low"}}]}]},
            "messages[0].content[0].image_url.detail",
            None,
        ),
    ],
)
def test_a_refusal_names_the_field(server: RunningServer, fields: dict[str, Any], param: str, code: str | None) -> None:
    error = refusal(ask(server, **fields))
    assert (error["param"], error["code"]) == (param, code)


def test_an_unknown_model_is_not_found_and_known_names_are_served(server: RunningServer) -> None:
    status, body = ask(server, model="gpt-4o")
    assert status == 404 and "gpt-4o" in body["error"]["message"] and "policy" in body["error"]["message"]
    assert (body["error"]["param"], body["error"]["code"]) == ("model", "model_not_found")
    for name in ("", "policy", None):
        status, body = ask(server, model=name)
        assert status == 200 and body["model"] == "policy"


def test_a_served_name_outlives_a_reload(
    start_server: Callable[..., RunningServer], tiny_policy: Path, tmp_path: Path
) -> None:
    """The first folder's name, or the one that was given; the new folder's is known too, that of old weights not."""
    first = shutil.copytree(tiny_policy, tmp_path / "first")
    for flags, lasting in (((), "first"), (("--served_model_name", "gpt-4o"), "gpt-4o")):
        running = start_server(first, *flags)
        assert ask(running, model=lasting)[0] == ask(running, model="first")[0] == 200
        assert running.post("/reload", {"model_name_or_path": str(tiny_policy)})[0] == 200
        assert [one["id"] for one in running.get("/v1/models")["data"]] == ["policy", lasting]
        assert ask(running, model=lasting)[0] == ask(running, model="policy")[0] == 200
        assert ask(running, model="first")[0] == (200 if lasting == "first" else 404)
        running.process.kill()


def test_all_roles_and_null_contents_are_read(server: RunningServer) -> None:
    """What they become is what the plain roles would say."""
    call = {"id": "c1", "type": "function", "function": {"name": "click", "arguments": '{"id": 3}'}}
    newer = [
        {"role": "developer", "content": "You browse."},
        USER,
        {"role": "assistant", "content": None, "tool_calls": [call], "refusal": None, "audio": None, "annotations": []},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "clicked"}]},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "I stop."}]},
        {"role": "function", "name": "click", "content": "clicked"},
    ]
    plain = [
        {"role": "system", "content": "You browse."},
        USER,
        {"role": "assistant", "content": 'click({"id": 3})'},
        {"role": "user", "content": "clicked"},
        {"role": "assistant", "content": "I stop."},
        {"role": "user", "content": "clicked"},
    ]
    status, body = ask(server, messages=newer, max_tokens=12)
    assert status == 200
    expected = ask(server, messages=plain, max_tokens=12)[1]
    assert (
        body["choices"] == expected["choices"] and body["usage"]["prompt_tokens"] == expected["usage"]["prompt_tokens"]
    )
    assert ask(server, messages=[USER, {"role": "assistant", "content": None}, USER])[0] == 200


def test_errors_of_every_kind_have_the_form(start_server: Callable[..., RunningServer], tiny_policy: Path) -> None:
    running = start_server(tiny_policy, "--api_key", "s3cret", "--max_body_mib", "1")
    with httpx.Client(base_url=running.url, headers={"authorization": "Bearer s3cret"}) as client:
        answers = {
            (401, "invalid_api_key"): client.get("/v1/models", headers={"authorization": "Bearer wrong"}),
            (404, "unknown_url"): client.post("/v1/embeddings", json={}),
            (404, "model_not_found"): client.get("/v1/models/another/name"),
            (405, None): client.get("/v1/chat/completions"),
            (400, None): client.post("/v1/chat/completions", content=b'{"messages": '),
            (408, "timeout"): client.post(
                "/v1/chat/completions", json={"messages": [USER], "max_tokens": 3000, "timeout_s": 0.01}, timeout=60
            ),
            (413, "request_too_large"): client.post("/v1/chat/completions", content=b"x" * 2**21),
        }
    for (status, code), answer in answers.items():
        assert answer.status_code == status, answer.text
        assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
        assert answer.json()["error"]["code"] == code
    running.process.kill()


def test_log_probabilities_say_what_they_are_of(server: RunningServer) -> None:
    """`logprob` is the model's own at any temperature, as `/score`'s is; `sampling_logprob` that of the distribution
    drawn from: here the model's own, cut to the 50 likeliest (the server's top_k) and sharpened."""
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png(screenshot(1))}"}}
    messages = [{"role": "user", "content": [picture, {"type": "text", "text": "go"}]}]
    wanted = {"messages": messages, "logprobs": True, "top_logprobs": 20, "max_tokens": 8, "seed": 2}
    [choice] = ask(server, **wanted, temperature=0.5)[1]["choices"]
    entries = choice["logprobs"]["content"]
    said = b"".join(bytes(entry["bytes"]) for entry in entries)
    assert said.decode(errors="replace").strip() == choice["message"]["content"]
    scoring = {"conversations": [{"role": "user", "content": "<image>go"}], "images": [png(screenshot(1))]}
    predicted = server.post(
        "/predict", scoring | {"return_tokens": True, "max_new_tokens": 8, "seed": 2, "temperature": 0.5}
    )[1]
    assert predicted["token_ids"] == choice["token_ids"]
    for name, key in (("logprobs", "logprob"), ("sampling_logprobs", "sampling_logprob")):
        assert predicted[name] == pytest.approx([entry[key] for entry in entries], abs=1e-4)
    for entry in entries:
        assert len(entry["top_logprobs"]) == 20
        assert bytes(entry["bytes"]).decode(errors="replace") == entry["token"]
        top = [one["logprob"] for one in entry["top_logprobs"]]
        assert top == sorted(top, reverse=True) and sum(map(math.exp, top)) < 1
        assert entry["sampling_logprob"] > entry["logprob"] or entry["logprob"] < top[0]
    greedy = ask(server, **wanted, temperature=0)[1]["choices"][0]["logprobs"]["content"]
    assert [entry["sampling_logprob"] for entry in greedy] == [0.0] * len(greedy)
    for entry in greedy[3:]:  # before, an end token may be likelier, which the minimum length forbids
        assert entry["logprob"] == entry["top_logprobs"][0]["logprob"] < 0
        assert entry["token"] == entry["top_logprobs"][0]["token"]

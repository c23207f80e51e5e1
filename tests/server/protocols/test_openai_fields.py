"""No silent differences from OpenAI's protocol: every field is honored, harmless as given, or refused by name."""

import base64
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import openai.types.chat
import pytest

from server.protocols.openai.messages import Message, Part
from server.protocols.openai.neutral import OPENAI, VLLM
from server.protocols.openai.request import ChatRequest
from tests.server.helpers import RunningServer, png, screenshot
from tests.server.protocols.field_table import TABLE, openai_fields, table
from tests.server.protocols.vllm_fields import VLLM_FIELDS

USER = {"role": "user", "content": "Find a shoe."}
ELSEWHERE = {"type": "text", "text": "x"}

# Of each field that is not served: values that ask for nothing, and values that ask for something.
NOT_SERVED: dict[str, tuple[list[Any], list[Any]]] = {
    "audio": ([], [{"voice": "alloy", "format": "wav"}]),
    "frequency_penalty": ([0, 0.0], [0.5, -1, True]),
    "function_call": (["none"], [{"name": "click"}]),
    "functions": ([[]], [[{"name": "click"}]]),
    "logit_bias": ([{}], [{"50256": -100}]),
    "metadata": ([{}, {"run": "1"}], []),
    "modalities": ([["text"]], [["text", "audio"]]),
    "moderation": ([], [{"model": "omni-moderation-latest"}]),
    "prediction": ([], [{"type": "content", "content": "x"}]),
    "presence_penalty": ([0], [0.1]),
    "prompt_cache_options": ([{}], [{"mode": "explicit"}]),
    "prompt_cache_retention": (["in_memory", "24h"], []),
    "reasoning_effort": (["none"], ["high"]),
    "service_tier": (["auto", "flex"], []),
    "store": ([False], [True, 0]),
    "verbosity": (["medium"], ["low"]),
    "web_search_options": ([], [{}]),
    "add_generation_prompt": ([True], [False]),
    "best_of": ([1], [2, True]),
    "chat_template_kwargs": ([{}], [{"enable_thinking": False}]),
    "early_stopping": ([False], [True]),
    "echo": ([False], [True]),
    "guided_grammar": ([], ["root ::= x"]),
    "ignore_eos": ([False], [True]),
    "min_p": ([0, 0.0], [0.1]),
    "repetition_penalty": ([1, 1.0], [1.1]),
    "request_id": (["mine"], []),
    "skip_special_tokens": ([True], [False]),
    "stop_token_ids": ([[]], [[2]]),
    "thinking_token_budget": ([-1], [100, 0]),
    "truncation_side": (["left"], []),
    "use_beam_search": ([False], [True]),
}


def ask(server: RunningServer, **fields: Any) -> tuple[int, dict[str, Any]]:
    return server.post("/v1/chat/completions", {"messages": [USER], "temperature": 0, "max_tokens": 3} | fields)


def refusal(answer: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    status, body = answer
    assert status == 400 and set(body) == {"error"} and set(body["error"]) == {"message", "type", "param", "code"}
    assert "\n" not in body["error"]["message"]
    return body["error"]


def test_every_field_of_others_has_its_decision() -> None:
    """A newer openai package with more fields fails here. `python -m tests.server.protocols.field_table` writes it."""
    assert {*OPENAI} <= {*openai_fields()} and {*VLLM} <= {*VLLM_FIELDS} and {*NOT_SERVED} <= {*OPENAI, *VLLM}
    assert {*OPENAI} <= {*NOT_SERVED}
    assert not {*OPENAI, *VLLM} & {*ChatRequest.model_fields}
    assert TABLE.read_text() == table()  # which knows every field


def test_every_field_of_messages_is_taken(server: RunningServer) -> None:
    """By the types of the openai package; what is not text or an image is refused by name."""
    known = {*Message.model_fields, "audio"}
    for role in ("Assistant", "Developer", "Function", "System", "Tool", "User"):
        assert {*getattr(openai.types.chat, f"ChatCompletion{role}MessageParam").__annotations__} <= known
    for part in ("Image", "Text", "Refusal"):
        fields = {*getattr(openai.types.chat, f"ChatCompletionContentPart{part}Param").__annotations__}
        assert fields <= {*Part.model_fields}
    error = refusal(ask(server, messages=[USER, {"role": "assistant", "content": "a", "audio": {"id": "x"}}]))
    assert (error["param"], error["code"]) == ("messages[1].audio", "unsupported_parameter")


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
        ({"best_off": 2}, "best_off", "unknown_parameter"),
        ({"top_k": -2}, "top_k", None),
        ({"min_tokens": -1}, "min_tokens", None),
        ({"top_logprobs": 2}, "top_logprobs", None),
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs", None),
        ({"max_tokens": 0}, "max_tokens", None),
        ({"max_tokens": -2}, "max_tokens", None),
        ({"max_completion_tokens": -1.5}, "max_completion_tokens", None),
        ({"seed": 2**63}, "seed", None),
        ({"top_p": -1}, "top_p", None),
        ({"max_completion_tokens": 4}, "max_tokens", None),
        ({"stream_options": {"continuous_usage_stats": True}}, "stream_options.continuous_usage_stats", None),
        ({"stream_options": {"frequency": 1}}, "stream_options.frequency", None),
        ({"temperature": 1e9}, "temperature", None),
        ({"messages": None}, "messages", None),
        ({"messages": [{"role": "oracle", "content": "x"}]}, "messages[0].role", None),
        ({"messages": [USER | {"reasoning": "so"}]}, "messages[0].reasoning", "unsupported_parameter"),
        ({"messages": [USER | {"content": 7}]}, "messages[0].content", None),
        (
            {"messages": [USER | {"content": [ELSEWHERE | {"min_pixels": 1000}]}]},
            "messages[0].content[0].min_pixels",
            "unsupported_parameter",
        ),
        ({"stop": 7}, "stop", None),
        ({"temperature": "hot"}, "temperature", None),
        ({"messages": [USER | {"tool_calls": [{"function": {"name": "a", "arguments": ""}}]}]}, "messages[0]", None),
        ({"messages": [USER | {"content": [{"type": "file", "file": {}}]}]}, "messages[0].content[0].type", None),
        ({"messages": [USER | {"content": [{"type": "text"}]}]}, "messages[0].content[0].text", None),
        (
            {"messages": [USER | {"content": [{"type": "image_url", "image_url": {"url": "", "detail": "fine"}}]}]},
            "messages[0].content[0].image_url.detail",
            None,
        ),
    ],
)
def test_a_refusal_names_the_field(server: RunningServer, fields: dict[str, Any], param: str, code: str | None) -> None:
    error = refusal(ask(server, **fields))
    assert (error["param"], error["code"]) == (param, code)
    assert (
        len(error["message"]) < 160 and "str:" not in error["message"] and ";" not in error["message"].split(param)[0]
    )


def test_what_changes_nothing_is_accepted(server: RunningServer) -> None:
    """Names, details, nulls, empty contents, line breaks within base64, hints to caches."""
    encoded = base64.b64decode(png(screenshot(1)))
    lines = base64.encodebytes(encoded).decode()
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png(screenshot(1))}"}}
    plain = [{"role": "user", "content": [image, {"type": "text", "text": "go"}]}]
    expected = ask(server, messages=plain)[1]["choices"]

    def with_image(text: Any = None, **fields: Any) -> list[dict[str, Any]]:
        url = {**image["image_url"], **fields}
        return [{"role": "user", "content": [{**image, "image_url": url}, text or {"type": "text", "text": "go"}]}]

    same = [
        *(with_image(detail=detail) for detail in ("low", "high", "auto", None)),
        with_image(url=f"data:image/png;base64,{lines}"),
        with_image(url=f"data:image/png;base64,{lines}".replace("\n", "\r\n")),
        with_image({"type": "text", "text": "go", "image_url": None, "refusal": None, "cache_control": None}),
        with_image({"type": "text", "text": "go", "prompt_cache_breakpoint": {"mode": "explicit"}}),
        with_image({"type": "text", "text": "go", "cache_control": {"type": "ephemeral"}}),
        with_image({"type": "text", "text": "go", "annotations": [], "signature": None}),
        *(with_image(url=f"{start};base64,{lines}") for start in ("data:", "data:application/octet-stream")),
        [plain[0] | {"cache_control": {"type": "ephemeral"}}],
        [plain[0] | {"content": [{**image, "text": ""}, {"type": "text", "text": "go"}]}],
        [plain[0] | {"content": [{**image, "image_url": image["image_url"]["url"]}, {"type": "text", "text": "go"}]}],
        [plain[0] | {"name": "Ann", "refusal": None, "tool_calls": None, "reasoning": "", "annotations": []}],
    ]
    for messages in same:
        status, body = ask(server, messages=messages)
        assert status == 200 and body["choices"] == expected, (messages, body)
    for content in ("", None, []):
        for turn in (
            {"role": "tool", "tool_call_id": "t"},
            {"role": "system"},
            {"role": "assistant"},
            {"role": "user"},
        ):
            assert ask(server, messages=[USER, turn | {"content": content}, USER])[0] == 200
    free = ask(server, temperature=1, seed=1, max_tokens=8)[1]["choices"]
    assert ask(server, temperature=1, seed=1, max_tokens=8, top_k=1)[1]["choices"] != free
    assert ask(server, temperature=1, seed=1, max_tokens=8, top_k=-1)[0] == 200
    greedy = [ask(server, temperature=0, max_tokens=8, top_k=k)[1]["choices"] for k in (0, 5)]
    assert greedy[0] == greedy[1]
    assert ask(server, min_tokens=3)[1]["usage"]["completion_tokens"] == 3


def test_what_others_take_for_no_value_is_none(server: RunningServer) -> None:
    """-1 as vLLM's and llama.cpp's clients send it, and the ends of OpenAI's ranges."""

    def free(**fields: Any) -> list[Any]:
        status, body = ask(server, temperature=1, max_tokens=8, **fields)
        assert status == 200, body
        return body["choices"]

    assert len({str(free(seed=-1)) for _ in range(4)}) > 1  # no seed, which draws anew each time
    for seed in (-2, -(2**63), 2**63 - 1):
        assert free(seed=seed) == free(seed=seed)
    assert free(seed=-2) != free(seed=2)
    assert free(top_p=0) == free(top_k=1)
    for fields in ({"max_tokens": -1}, {"max_tokens": -1, "max_completion_tokens": 5}, {"max_completion_tokens": -1}):
        status, body = ask(server, **{"max_tokens": None, **fields})
        assert status == 200 and body["usage"]["completion_tokens"] >= 5, body


def test_an_unknown_model_is_not_found_and_known_names_are_served(server: RunningServer) -> None:
    status, body = ask(server, model="gpt-4o")
    assert status == 404 and "gpt-4o" in body["error"]["message"] and "policy" in body["error"]["message"]
    assert (body["error"]["param"], body["error"]["code"]) == ("model", "model_not_found")
    for name in ("", "policy", None):
        status, body = ask(server, model=name)
        assert status == 200 and body["model"] == "policy"


@pytest.mark.slow
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

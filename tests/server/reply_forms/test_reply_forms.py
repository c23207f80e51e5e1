"""Replies in the form that is asked for: JSON of a schema, calls of tools; beside others, drafted, streamed, cut."""

import json
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import openai
import pytest

from server.engine.engine import Engine, EngineConfig
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.engine.reply_form.grammar import json_rule
from server.engine.sampling import SamplingParams
from server.engine.sequence import Options
from tests.server.engine.test_engine import MIX, prompt_of
from tests.server.helpers import RunningServer
from tests.server.reply_forms.drawn_schemas import drawn_schema
from tests.server.reply_forms.form_runs import POLICIES, policy_counts, tokenizer_counts

USER = {"role": "user", "content": "Find a shoe."}
VERDICT = {
    "type": "object",
    "properties": {"verdict": {"enum": ["SUCCESS", "NOT SUCCESS"]}, "why": {"type": "string", "maxLength": 9}},
    "required": ["verdict", "why"],
    "additionalProperties": False,
}


def asking(schema: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}


def tool(name: str, **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "parameters": parameters | {"additionalProperties": False}}}


DRAFT = "https://json-schema.org/draft/2020-12/schema"
TOOLS = [tool("click", id={"type": "integer", "minimum": 0, "maximum": 99}), tool("say", text={"enum": ["a", "b"]})]


def ask(server: RunningServer, **fields: Any) -> tuple[int, Any]:
    body = {"messages": [USER], "max_tokens": 600, "seed": 1} | fields
    return server.post("/v1/chat/completions", body)


def said(server: RunningServer, **fields: Any) -> str:
    status, body = ask(server, **fields)
    assert status == 200, body
    return body["choices"][0]["message"]["content"]


def test_drawn_schemas_are_kept_to(server: RunningServer) -> None:
    schemas = [drawn_schema(random.Random(seed)) for seed in range(30)]
    with ThreadPoolExecutor(4) as pool:
        replies = list(
            pool.map(lambda n: said(server, response_format=asking(schemas[n]), seed=n, max_tokens=2000), range(30))
        )
    for schema, reply in zip(schemas, replies, strict=True):
        jsonschema.validate(json.loads(reply), schema)


@pytest.mark.parametrize("name", ["qwen3", "llava", "Mistral's (SentencePiece)"])
def test_drawn_forms_of_other_families(name: str) -> None:
    """All of them, and more: `python -m tests.server.reply_forms.form_runs --num_replies 1000`"""
    counts = policy_counts(name, 16) if name in POLICIES else tokenizer_counts(name, 10)
    assert counts["wrong"] == 0 and counts["JSON"] and counts["calls"]


def test_every_spelling(server: RunningServer) -> None:
    """OpenAI's and vLLM's, greedy too."""
    assert set(json.loads(said(server, response_format=asking(VERDICT), temperature=0))) == {"verdict", "why"}
    assert said(server, response_format={"type": "json_object"}, max_tokens=3).startswith("{")
    for schema in (VERDICT, json.dumps(VERDICT)):
        for fields in ({"structured_outputs": {"json": schema}}, {"guided_json": schema}):
            jsonschema.validate(json.loads(said(server, **fields)), VERDICT)
    choices = {said(server, structured_outputs={"choice": ["yes / no", "it's"]}, seed=seed) for seed in range(4)}
    assert choices <= {"yes / no", "it's"}
    assert said(server, guided_choice=["only"]) == "only"
    assert said(server, guided_regex="[ab]{3}/[0-9]")[3] == "/"


def test_a_cut_reply_says_so_and_the_last_token_may_end_it(server: RunningServer) -> None:
    body = ask(server, response_format=asking(VERDICT), max_tokens=4)[1]
    assert body["choices"][0]["finish_reason"] == "length" and body["usage"]["completion_tokens"] == 4
    whole = ask(server, response_format=asking(VERDICT), return_token_ids=True)[1]["choices"][0]
    exact = ask(server, response_format=asking(VERDICT), max_tokens=len(whole["token_ids"]))[1]["choices"][0]
    assert exact["finish_reason"] == whole["finish_reason"] == "stop"
    assert exact["message"] == whole["message"]


def test_with_stop_strings_several_replies_and_log_probabilities(server: RunningServer) -> None:
    _, body = ask(server, response_format=asking(VERDICT), n=3, logprobs=True, top_logprobs=2)
    for choice in body["choices"]:
        jsonschema.validate(json.loads(choice["message"]["content"]), VERDICT)
        entries = choice["logprobs"]["content"]
        assert b"".join(bytes(one["bytes"]) for one in entries).decode() == choice["message"]["content"]
        assert all(one["logprob"] <= one["sampling_logprob"] + 1e-4 for one in entries)
    assert len({choice["message"]["content"] for choice in body["choices"]}) > 1
    stopped = ask(server, response_format=asking(VERDICT), stop="SUCC")[1]["choices"][0]
    assert stopped["finish_reason"] == "stop" and stopped["message"]["content"].endswith(('"', "NOT"))


def test_others_beside_are_not_changed(server: RunningServer) -> None:
    """Free replies are what they are alone, and so are bound ones."""
    kinds: list[dict[str, Any]] = [
        {},
        {"response_format": asking(VERDICT)},
        {"tools": TOOLS, "tool_choice": "required"},
    ]
    wanted = [kinds[n % 3] | {"seed": n, "max_tokens": 40} for n in range(9)]
    alone = [_without_ids(ask(server, **fields)[1]["choices"]) for fields in wanted]
    with ThreadPoolExecutor(9) as pool:
        beside = list(pool.map(lambda fields: _without_ids(ask(server, **fields)[1]["choices"]), wanted))
    assert beside == alone


def _without_ids(choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for choice in choices:
        for call in choice["message"].get("tool_calls", []):
            assert call.pop("id").startswith("call_")
    return choices


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_drafts_change_nothing_and_what_is_forced_takes_fewer_steps(
    engines: tuple[Engine, Engine], temperature: float
) -> None:
    replies, steps = [], []
    for engine in engines:
        before = engine.stats.steps
        grammars, futures = engine.model.grammars, []
        for number in range(6):
            one = grammars.constraint(f"start: {json_rule(VERDICT)}\n", "x") if number % 3 else None
            params = SamplingParams(temperature, max_new_tokens=60, min_new_tokens=5, seed=number % 2)
            futures.append(engine.submit(prompt_of(engine, *MIX[number % 3]), params, Options(constraint=one)))
        replies.append([future.result(120).token_ids for future in futures])
        steps.append(engine.stats.steps - before)
    assert replies[0] == replies[1]
    assert steps[0] < steps[1]


def test_a_stream_adds_up_to_the_reply(server: RunningServer) -> None:
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
    for fields in (
        {"response_format": asking(VERDICT)},
        {"tools": TOOLS, "tool_choice": "required"},
        {"tools": TOOLS, "tool_choice": "required", "logprobs": True},
        {"tools": TOOLS},
    ):
        wanted = {"model": "policy", "messages": [USER], "seed": 4, "max_tokens": 200} | fields
        whole = client.chat.completions.create(**wanted).choices[0]
        text, calls, reason, num_tokens = "", {}, None, 0
        for chunk in client.chat.completions.create(**wanted, stream=True):
            [choice] = chunk.choices
            text += choice.delta.content or ""
            for piece in choice.delta.tool_calls or []:
                if piece.id:
                    calls[piece.index] = [piece.function.name, ""]
                calls[piece.index][1] += piece.function.arguments
            reason = choice.finish_reason or reason
            num_tokens += len(choice.logprobs.content) if choice.logprobs else 0
        assert (text, reason) == (whole.message.content or "", whole.finish_reason)
        expected = [[one.function.name, one.function.arguments] for one in whole.message.tool_calls or []]
        assert list(calls.values()) == expected
        assert not fields.get("logprobs") or num_tokens == len(whole.logprobs.content)


def test_tools_are_called_as_the_choice_says(server: RunningServer) -> None:
    def called(**fields: Any) -> tuple[list[str], str]:
        choice = ask(server, tools=TOOLS, **fields)[1]["choices"][0]
        for call in choice["message"].get("tool_calls", []):
            known = next(one["function"] for one in TOOLS if one["function"]["name"] == call["function"]["name"])
            jsonschema.validate(json.loads(call["function"]["arguments"]), known["parameters"])
        calls = choice["message"].get("tool_calls", [])
        assert (choice["message"]["content"] is None) == bool(calls)
        return [one["function"]["name"] for one in calls], choice["finish_reason"]

    drawn = [called(tool_choice="required", seed=seed) for seed in range(8)]
    assert {name for names, _ in drawn for name in names} == {"click", "say"}
    assert all(reason == "tool_calls" for _, reason in drawn) and max(len(names) for names, _ in drawn) > 1
    single = [called(tool_choice="required", parallel_tool_calls=False, seed=seed) for seed in range(8)]
    assert all(len(names) == 1 for names, _ in single)
    assert called(tool_choice={"type": "function", "function": {"name": "say"}}) == (["say"], "stop")
    only = {"mode": "required", "tools": [{"type": "function", "function": {"name": "say"}}]}
    assert set(called(tool_choice={"type": "allowed_tools", "allowed_tools": only})[0]) == {"say"}
    cut = ask(server, tools=TOOLS, tool_choice="required", max_tokens=5)[1]["choices"][0]
    assert (cut["finish_reason"], cut["message"]["content"]) == ("length", "")
    assert called(tool_choice="none", max_tokens=4)[0] == []
    prompts = [ask(server, max_tokens=1, **one)[1]["usage"]["prompt_tokens"] for one in ({}, {"tools": TOOLS})]
    assert prompts[0] < prompts[1]  # the tools are told


def test_tools_and_a_schema_go_together(server: RunningServer) -> None:
    for seed in range(6):
        choice = ask(server, tools=TOOLS, response_format=asking(VERDICT), seed=seed)[1]["choices"][0]
        if "tool_calls" not in choice["message"]:
            jsonschema.validate(json.loads(choice["message"]["content"]), VERDICT)


REFUSED: dict[str, Any] = {
    "no such type": {"type": "strin"},
    "itself": {"$ref": "#"},
    "nowhere": {"$ref": "#/$defs/nope"},
    "elsewhere": {"$ref": "https://example.org/schema.json"},
    "nothing": {
        "type": "object",
        "properties": {"a": {"minimum": 3, "maximum": 2, "type": "integer"}},
        "required": ["a"],
    },
    "a keyword that is not kept to": {"type": "array", "uniqueItems": True},
    "look-ahead": {"type": "string", "pattern": "^(?=a)b"},
    "crossed": {
        "allOf": [
            {"anyOf": [{"type": "object", "properties": {f"{i}_{j}": {"type": "string"}}} for j in range(4)]}
            for i in range(20)
        ]
    },
    "many names": {"type": "object", "properties": {f"name{i}": {"type": "string"} for i in range(2000)}},
    "long": {"enum": [f"value number {i}" for i in range(50_000)]},
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_schema_is_refused_in_one_line(server: RunningServer, name: str) -> None:
    check_refusal(server, "response_format", response_format=asking(REFUSED[name]))
    assert said(server, max_tokens=2) is not None


@pytest.mark.parametrize("name", ["nowhere", "elsewhere", "nothing", "crossed"])
def test_so_are_bad_parameters_of_a_tool(server: RunningServer, name: str) -> None:
    bad = {"type": "function", "function": {"name": "bad", "parameters": REFUSED[name], "strict": True}}
    check_refusal(server, "tools", tools=[*TOOLS, bad])


def test_a_lenient_tool_may_have_keywords_that_are_not_kept_to(server: RunningServer) -> None:
    parameters = {"properties": {"a": {"type": "array", "uniqueItems": True, "maxItems": 1}}, "$schema": DRAFT}
    odd = {"type": "function", "function": {"name": "odd", "parameters": parameters}}
    status, body = ask(server, tools=[odd], max_tokens=3)
    assert status == 200, body
    odd["function"] |= {"strict": True}
    check_refusal(server, "tools", tools=[odd])


def check_refusal(server: RunningServer, param: str, **fields: Any) -> None:
    status, body = ask(server, max_tokens=8, **fields)
    assert status == 400, body
    assert body["error"]["param"] == param, body
    assert "\n" not in body["error"]["message"] and len(body["error"]["message"]) < 300


@pytest.mark.parametrize(
    "fields, param",
    [
        ({"response_format": {"type": "json"}}, "response_format.type"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        ({"response_format": asking(True)}, "response_format.json_schema.schema"),
        ({"response_format": asking(VERDICT), "guided_json": VERDICT}, "guided_json"),
        ({"guided_json": "{"}, "guided_json"),
        ({"guided_regex": "(("}, "guided_regex"),
        ({"guided_choice": []}, "guided_choice"),
        ({"structured_outputs": {"grammar": "root ::= x"}}, "structured_outputs.grammar"),
        ({"guided_grammar": "root ::= x"}, "guided_grammar"),
        ({"tools": TOOLS, "guided_regex": "a"}, "guided_regex"),
        ({"tools": [*TOOLS, TOOLS[0]]}, "tools[2].function.name"),
        ({"tools": [tool("a b")]}, "tools[0].function.name"),
        ({"tools": [{"type": "custom", "custom": {"name": "a"}}]}, "tools[0].function"),
        ({"tools": TOOLS, "tool_choice": "any"}, "tool_choice"),
        ({"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "nope"}}}, "tool_choice"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tools": TOOLS, "tool_choice": {"type": ["function"]}}, "tool_choice"),
    ],
)
def test_what_cannot_be_asked_for_is_named(server: RunningServer, fields: dict[str, Any], param: str) -> None:
    status, body = ask(server, **fields)
    assert (status, body["error"]["param"]) == (400, param), body


def test_what_the_vocabulary_cannot_say_fails_alone(tiny_policy: Path) -> None:
    """A grammar that runs into a dead end on its way: that request gets the error, its neighbor its reply."""
    model = VisionLanguageModel(tiny_policy, LoadOptions(device="cpu"))
    engine = Engine(model, EngineConfig(2))
    try:
        dead = model.grammars.constraint('start: "a" | "b"\n', "x")
        dead.masks = lambda draft: ~_none(model, 1 + len(draft))  # type: ignore[method-assign]
        params = SamplingParams(temperature=0, max_new_tokens=12, min_new_tokens=12)
        futures = [engine.submit(prompt_of(engine, *MIX[0]), params, Options(constraint=one)) for one in (dead, None)]
        with pytest.raises(Exception, match="cannot go on"):
            futures[0].result(60)
        assert len(futures[1].result(60).token_ids) == 12
    finally:
        engine.stop()


def _none(model: VisionLanguageModel, rows: int) -> Any:
    return np.zeros((rows, model.hf_model.get_output_embeddings().out_features), dtype=bool)

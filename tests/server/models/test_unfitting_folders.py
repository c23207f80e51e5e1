"""Folders whose parts do not fit: a tokenizer with more tokens than the model has embeddings, a template that says
nothing. They are refused at the start, or whose request meets it gets 400, and nobody else."""

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from common.errors import UserError
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from tests.server.helpers import RunningServer
from tests.server.models.test_model_families import check_generate
from tests.tiny import qwen2_5_vl, text_only

STRANGE = "x <unused_190> y"


def cut(folder: Path, rows: int) -> Path:
    """A tiny Llama without its last `rows` rows."""
    text_only.build_policy(folder, "llama", layers=2)
    weights = load_file(folder / "model.safetensors")
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        weights[name] = weights[name][: len(weights[name]) - rows].contiguous()
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"vocab_size": len(weights["lm_head.weight"])}))
    return folder


@pytest.fixture(scope="module")
def server(start_server: Callable[..., RunningServer], tmp_path_factory: pytest.TempPathFactory) -> RunningServer:
    return start_server(cut(tmp_path_factory.mktemp("cut") / "policy", 7), "--max_batch_size", "6")


def chat(*messages: dict[str, Any], **fields: Any) -> tuple[str, dict[str, Any]]:
    return "/v1/chat/completions", {"messages": list(messages), "max_tokens": 4, **fields}


USER = {"role": "user", "content": "go"}
TOOL = {"type": "function", "function": {"name": "a", "description": STRANGE, "parameters": {"type": "object"}}}
BAD = {
    "a user's words": chat({"role": "user", "content": STRANGE}),
    "what a tool answered": chat(USER, {"role": "tool", "tool_call_id": "t", "content": STRANGE}),
    "a tool's description": chat(USER, tools=[TOOL]),
    "a stream": chat({"role": "user", "content": STRANGE}, stream=True),
    "OpenWebVoyager's protocol": ("/predict", {"conversations": [{"role": "user", "content": STRANGE}]}),
    "an answer": ("/score", {"conversations": [{"role": "user", "content": "go"}], "answers": [STRANGE]}),
}


def test_those_beside_are_answered_as_alone(server: RunningServer) -> None:
    def ask(seed: int) -> Any:
        status, body = server.post(*chat(USER, seed=seed, temperature=1, max_tokens=60))
        assert status == 200
        return body["choices"]

    alone = [ask(seed) for seed in range(4)]
    with ThreadPoolExecutor(10) as pool:
        beside = [pool.submit(ask, seed) for seed in range(4)]
        refused = {name: pool.submit(server.post, *BAD[name]) for name in BAD}
    for name, one in refused.items():
        status, body = one.result()
        assert status == 400 and "no embedding" in body["error"]["message"], (name, body)
    assert [one.result() for one in beside] == alone


def test_a_policy_whose_replies_could_not_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no end token"):
        VisionLanguageModel(cut(tmp_path / "policy", 511), LoadOptions(device="cpu"))


TEMPLATES = {
    "none": (None, "no chat template"),
    "an empty one": ("", "no chat template"),
    "one that is cut": ("{% for m in messages %}{{ m.content }}", "does not write a user's turn"),
    "one that knows no user": (
        "{{ raise_exception('no ' + messages[0].role) }}",
        "refuses these messages: no user",
    ),
    "one of other fields": ("{{ messages[0].text.strip() }}", "does not write a user's turn"),
}


def test_templates_for_other_uses_alone_are_none_to_chat_with(tmp_path: Path) -> None:
    folder = text_only.build_policy(tmp_path / "policy", "llama", layers=2)
    (folder / "additional_chat_templates").mkdir()
    (folder / "chat_template.jinja").rename(folder / "additional_chat_templates" / "rag.jinja")
    with pytest.raises(UserError, match="has chat templates for rag alone"):
        VisionLanguageModel(folder, LoadOptions(device="cpu"))


def test_a_template_that_is_no_text_is_none(tmp_path: Path) -> None:
    folder = qwen2_5_vl.build_policy(tmp_path / "policy", layers=1)
    (folder / "chat_template.jinja").unlink(missing_ok=True)
    (folder / "chat_template.json").write_text(json.dumps({"chat_template": [{"name": "default", "template": "x"}]}))
    with pytest.raises(UserError, match="template is no text"):
        VisionLanguageModel(folder, LoadOptions(device="cpu"))


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_folder_whose_template_says_nothing_is_refused_at_start(tmp_path: Path, name: str) -> None:
    template, message = TEMPLATES[name]
    folder = text_only.build_policy(tmp_path / "policy", "llama", layers=2)
    (folder / "chat_template.jinja").unlink()
    if template is not None:
        (folder / "chat_template.jinja").write_text(template)
    with pytest.raises(UserError, match=re.escape(message)):
        VisionLanguageModel(folder, LoadOptions(device="cpu"))


def test_messages_that_a_template_refuses_are_the_requests_own_error(
    start_server: Callable[..., RunningServer], tmp_path: Path
) -> None:
    folder = text_only.build_policy(tmp_path / "policy", "llama", layers=2)
    strict = "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system here') }}{% endif %}"
    (folder / "chat_template.jinja").write_text(strict + "{{ m.content }}{% endfor %}")
    running = start_server(folder)
    assert running.post(*chat(USER))[0] == 200
    for messages in ([{"role": "system", "content": "x"}, USER], [{"role": "developer", "content": "x"}, USER]):
        status, body = running.post(*chat(*messages))
        assert status == 400 and body["error"]["message"].endswith("no system here")
    running.process.kill()


def test_a_weight_that_the_type_cannot_hold_is_refused(tmp_path: Path) -> None:
    folder = cut(tmp_path / "policy", 0)
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"][0] = 1e5
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    VisionLanguageModel(folder, LoadOptions(device="cpu", dtype="bfloat16"))
    with pytest.raises(UserError, match=r"model\.norm\.weight \(and 0 more\) is infinite in float16"):
        VisionLanguageModel(folder, LoadOptions(device="cpu", dtype="float16"))


@pytest.mark.parametrize(("value", "said"), [(float("nan"), "is NaN"), (float("inf"), "is infinite")])
def test_a_weight_that_is_no_number_is_refused(tmp_path: Path, value: float, said: str) -> None:
    folder = cut(tmp_path / "policy", 0)
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"][0] = value
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match=rf"model\.norm\.weight \(and 0 more\) {said} in float32; its training"):
        VisionLanguageModel(folder, LoadOptions(device="cpu"))


def test_what_becomes_zero_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = cut(tmp_path / "policy", 0)
    weights = load_file(folder / "model.safetensors")
    for weight in weights.values():
        weight[weight.abs() < 1e-6] = 0
    weights["model.norm.weight"][0] = 1e-9
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    VisionLanguageModel(folder, LoadOptions(device="cpu", dtype="float16"))
    assert "0 numbers become infinite and 1 zero, the first in model.norm.weight" in capsys.readouterr().err


YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 64}
WINDOW = {"use_sliding_window": True, "sliding_window": 8}


@pytest.mark.parametrize(
    "fields", [{"rope_parameters": YARN}, {**WINDOW, "max_window_layers": 2}, {**WINDOW, "max_window_layers": 0}]
)
def test_kinds_that_are_not_trained_equal_generate(tmp_path: Path, fields: dict[str, Any]) -> None:
    """Frequencies stretched by YaRN; a window that no layer has; one that all have."""
    check_generate(text_only.build_policy(tmp_path, "qwen2", layers=2, initializer_range=0.1, **fields), [])


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({**WINDOW, "max_window_layers": 1}, "only some of its layers have a window"),
        ({"rope_parameters": {**YARN, "rope_type": "dynamic"}}, "rope_type is 'dynamic'"),
    ],
)
def test_kinds_whose_replies_would_differ_are_refused(tmp_path: Path, fields: dict[str, Any], said: str) -> None:
    folder = text_only.build_policy(tmp_path, "qwen2", layers=2, **fields)
    with pytest.raises(UserError, match=said):
        VisionLanguageModel(folder, LoadOptions(device="cpu"))

"""Replies in drawn forms, of every family and tokenizer we have: how many are JSON, fit their schema, or were cut.

    python -m tests.server.reply_forms.form_runs --num_replies 1000

Tiny policies with random weights say anything that they are allowed to. Half of the replies are calls of tools with
drawn parameters. Large tokenizers have no policy of their size here: their tokens are drawn alike among the allowed.
"""

import collections
import dataclasses
import json
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import torch

from common import cli
from server.engine.engine import Engine, EngineConfig
from server.engine.model.prompt import Prompt
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.engine.reply_form.grammar import Constraint, Grammars, json_rule
from server.engine.reply_form.tool_calls import Tools, grammar, read_calls
from server.engine.reply_form.tool_form import OWN
from server.engine.sampling import SamplingParams
from server.engine.sequence import Options
from tests import tiny
from tests.server.reply_forms.drawn_schemas import drawn_schema
from tests.tiny import byte_level_tokenizers, idefics3, llava, mistral_tokenizer, qwen2_5_vl, qwen3_vl, text_only

POLICIES: dict[str, Callable[[Path], Path]] = {
    "idefics2": tiny.build_decisive_policy,
    "idefics3": lambda folder: idefics3.build_policy(folder, layers=2),
    "llava": lambda folder: llava.build_decisive_policy(folder, is_next=False),
    "qwen2_5_vl": lambda folder: qwen2_5_vl.build_policy(folder, layers=2),
    "qwen3_vl": lambda folder: qwen3_vl.build_policy(folder, layers=4),
    "llama": lambda folder: text_only.build_policy(folder, "llama", layers=2),
    "qwen3": lambda folder: text_only.build_policy(folder, "qwen3", layers=2),
}
TOKENIZERS: dict[str, Callable[[], Any]] = {
    "Mistral's (SentencePiece)": lambda: mistral_tokenizer.make_tokenizer(("<image>", "<end_of_utterance>")),
    "SmolVLM's (byte level)": byte_level_tokenizers.smolvlm,
    "Qwen3-VL's (byte level)": byte_level_tokenizers.qwen3_vl,
}
_MOST = 3000

Counts = collections.Counter[str]


@dataclasses.dataclass(frozen=True)
class Config:
    """Draw replies."""

    num_replies: int = 1000
    """In all."""


def main(config: Config) -> None:
    """Print a line for each; ends with 1 where a reply was neither cut nor of its form."""
    each = -(-config.num_replies // (len(POLICIES) + len(TOKENIZERS)))
    total = Counts()
    for name in (*POLICIES, *TOKENIZERS):
        found = policy_counts(name, each) if name in POLICIES else tokenizer_counts(name, each)
        total += found
        print(f"{name}: {dict(found)}", flush=True)
    print(f"all: {dict(total)}")
    sys.exit(bool(total["wrong"]))


def policy_counts(name: str, number: int) -> Counts:
    """Of a tiny policy's replies, several at once, drafted or not, greedy or drawn."""
    with tempfile.TemporaryDirectory() as folder:
        model = VisionLanguageModel(POLICIES[name](Path(folder) / name), LoadOptions(device="cpu"))
    engine = Engine(model, EngineConfig(8, max_queue=number))
    try:
        asked = []
        for seed in range(number):
            schema, rules = _drawn(seed, model.tool_form)
            one = model.grammars.constraint(rules, "x")
            params = SamplingParams(temperature=(0.7, 1.2)[seed % 3 > 0], max_new_tokens=_MOST, seed=seed)
            prompt = Prompt([6 + seed % 90, 8, 9])
            asked.append((schema, seed, engine.submit(prompt, params, Options(constraint=one))))
        found = Counts()
        for schema, seed, future in asked:
            completion = future.result(600)
            text = model.decode_text(completion.token_ids).strip()
            found[_kind(text, schema, seed % 2 == 1, completion.finish_reason == "length", model.tool_form)] += 1
        return found
    finally:
        engine.stop()


def tokenizer_counts(name: str, number: int) -> Counts:
    """Of what says any allowed token alike."""
    tokenizer, found = TOKENIZERS[name](), Counts()
    grammars = Grammars(tokenizer, len(tokenizer) + 17, [tokenizer.eos_token_id], [])
    for seed in range(number):
        schema, rules = _drawn(seed, OWN)
        ids = drawn(grammars.constraint(rules, "x"), tokenizer.eos_token_id, seed)
        text = tokenizer.decode(ids, skip_special_tokens=True).strip()
        found[_kind(text, schema, seed % 2 == 1, len(ids) == _MOST, OWN)] += 1
    return found


def drawn(constraint: Constraint, end_id: int, seed: int) -> list[int]:
    """Token ids, each drawn alike among those that may come next; it ends as soon as it may."""
    generator, ids = torch.Generator().manual_seed(seed), []
    while not constraint.complete and len(ids) < _MOST:
        allowed = torch.from_numpy(constraint.masks([])[0]).nonzero()[:, 0]
        if (allowed == end_id).any():
            break
        ids.append(int(allowed[torch.randint(len(allowed), (), generator=generator)]))
        constraint.consume(ids[-1])
    return ids


def _drawn(seed: int, form: Any) -> tuple[dict[str, Any], str]:
    """A schema, and the rules of JSON of it, or of calls of a tool with such parameters."""
    schema = drawn_schema(random.Random(seed))
    if seed % 2:
        return schema, grammar(Tools({"tool": schema}, required=True), form, None)
    return schema, f"start: {json_rule(schema)}\n"


def _kind(text: str, schema: dict[str, Any], is_call: bool, is_cut: bool, form: Any) -> str:
    if is_cut:
        return "cut"
    try:
        spoken = [call.arguments for call in read_calls(text, form, final=True)[1]] if is_call else [text]
        for one in spoken:
            jsonschema.validate(json.loads(one), schema)
        return ("calls" if is_call else "JSON") if spoken else "wrong"
    except (ValueError, jsonschema.ValidationError):
        print(f"wrong: {text!r} of {schema}", file=sys.stderr)
        return "wrong"


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)

"""A family is added by its folders and one line, and nothing else: conversion, training, server and dry run take it.

ViP-LLaVA of transformers, which the repository does not have (`another_family/`).
"""

import ast
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForImageTextToText, AutoProcessor

import models
import training.modules
from data.conversation import split_marks
from models import registry
from server.engine.engine import Engine, EngineConfig
from server.engine.model.prompt import Prompt, build_prompt
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.engine.model.wire_images import from_predict
from server.engine.sampling import SamplingParams
from tests import tiny
from tests.conftest import ROOT
from tests.models.another_family.tiny import build_policy
from tests.server.helpers import observation, png, screenshot
from tests.training.conftest import train
from tests.training.modules.test_train_llava import SAMPLES, STEPS, PlainLoop
from toolkits.model_checkpoints_convertor.convert import Config, main
from training.batches.collate import Collator, Place, TokenizedSample
from training.layout import Layout
from training.memory.per_gpu import count_parameters

HERE = Path(__file__).parent / "another_family"


@pytest.fixture(scope="module", autouse=True)
def added() -> Iterator[None]:
    """In this process as `sitecustomize.py` does it in others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "__path__", [*models.__path__])
        patch.setattr(training.modules, "__path__", [*training.modules.__path__])
        patch.setattr(registry, "NAMES", registry.NAMES)
        patch.syspath_prepend(HERE)
        patch.setenv("PYTHONPATH", f"{ROOT}:{HERE}")  # of the process that computes Megatron's logits
        patch.delitem(sys.modules, "sitecustomize", raising=False)
        importlib.import_module("sitecustomize")
        yield


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_policy(tmp_path_factory.mktemp("vipllava") / "hf")


@pytest.fixture(scope="module")
def megatron(policy: Path) -> Path:
    """Whose logits Megatron finds as Hugging Face does."""
    return convert("hf2mg", policy, policy.with_name("megatron"), verify=True)


def convert(direction: str, source: Path, target: Path, verify: bool = False) -> Path:
    main(Config(direction=direction, load_path=source, save_path=target, verify=verify))
    return target


def test_conversion_is_exact_both_ways(policy: Path, megatron: Path, tmp_path: Path) -> None:
    back = convert("mg2hf", megatron, tmp_path / "back")
    before, after = (AutoModelForImageTextToText.from_pretrained(folder).state_dict() for folder in (policy, back))
    assert before.keys() == after.keys() and all(before[name].equal(after[name]) for name in before)


@pytest.mark.slow
def test_training_loses_what_hugging_faces_model_loses(policy: Path, megatron: Path, tmp_path: Path) -> None:
    """With the values that the family publishes, which nobody sets here."""
    shards = tiny.build_dataset(tmp_path / "shards", SAMPLES)
    paths = f"{HERE}:{ROOT}"
    losses = train("", shards, megatron, tmp_path, {"PYTHONPATH": paths}, train_iters=STEPS)
    assert losses == pytest.approx(PlainLoop(policy).train(), abs=1e-4)
    assert losses[-1] < losses[0] - 0.3


def test_the_server_says_what_generate_says(policy: Path) -> None:
    """A reply goes on from its prompt's positions and ends where the family says, over steps and cached prefixes."""
    model = VisionLanguageModel(policy, LoadOptions(device="cpu"))
    assert model.processor.tokenizer.convert_tokens_to_ids("<end_of_utterance>") in model.eos_ids
    engine = Engine(model, EngineConfig(max_batch_size=2, max_queue=8, prefill_chunk=16))
    images = [screenshot(1), screenshot(2, size=(120, 200))]
    params = SamplingParams(temperature=0, max_new_tokens=16, min_new_tokens=0)
    for text in ("<image>{} and <image>{}", "<image>{} and <image>{} again"):
        text = text.format(observation(1, 5), observation(2, 5))
        messages = [{"role": "user", "content": split_marks(text)}]
        prompt = build_prompt(messages, from_predict([png(image) for image in images]), model, engine.cache)
        rendered = model.processor.apply_chat_template(messages, add_generation_prompt=True).strip()
        inputs = model.processor(text=[rendered], images=images, return_tensors="pt")
        assert prompt.token_ids == inputs["input_ids"][0].tolist()
        expected = model.hf_model.generate(**inputs, do_sample=False, max_new_tokens=16, eos_token_id=model.eos_ids)
        reply = engine.submit(prompt, params).result(60)
        assert reply.token_ids == expected[0, reply.prompt_tokens :].tolist()
    engine.stop()


def test_the_dry_run_counts_every_parameter(policy: Path) -> None:
    hf = registry.family(policy).read_config(policy)
    parameters = dict(AutoModelForImageTextToText.from_pretrained(policy).named_parameters())
    language = sum(p.numel() for name, p in parameters.items() if "language_model" in name)
    connector = sum(p.numel() for name, p in parameters.items() if "projector" in name)
    [count] = count_parameters(hf, Layout())
    padding = 2 * (-hf.text_config.vocab_size % 128) * hf.text_config.hidden_size  # embedding and output layer
    assert count.connector == connector
    assert count.total == sum(p.numel() for p in parameters.values()) + padding
    assert count.language == language + parameters["lm_head.weight"].numel() + padding


@pytest.mark.parametrize("packing", [False, True])
def test_a_micro_batch_holds_the_familys_positions(policy: Path, packing: bool) -> None:
    """Each sample's own, in a row for itself or behind another; none where there is only padding."""
    kind = registry.family(policy)
    encoder = kind.image_encoder(AutoProcessor.from_pretrained(policy), kind.read_config(policy))
    collator = Collator(Place(0, 1, 0, 1, True), encoder, batch_size=1 if packing else 2, seq_len=16, packing=packing)
    samples = [TokenizedSample(str(n), torch.arange(n), torch.ones(n, dtype=torch.bool), []) for n in (9, 5)]
    [batch] = collator.collate(samples)
    rows = [[*range(7, 16), *range(7, 12)]] if packing else [[*range(7, 16)], [*range(7, 12), 0, 0, 0, 0]]
    assert sorted(batch.position_ids[0].tolist()) == sorted(rows)


def test_a_reply_counts_on_from_the_largest_of_several_rows() -> None:
    rows = torch.tensor([[0, 1, 1, 2], [0, 1, 2, 3], [0, 1, 1, 3]])
    prompt = Prompt([5, 6, 6, 7], position_ids=rows)
    assert prompt.positions(1, 4).equal(rows[:, 1:])
    assert prompt.positions(2, 6).tolist() == [[1, 2, 4, 5], [2, 3, 4, 5], [1, 3, 4, 5]]
    assert prompt.positions(5, 6).tolist() == [[5], [5], [5]]


ROOMS = ("common", "data", "environments", "models", "collection", "server", "training", "toolkits", "elcano")


def test_nothing_outside_a_familys_folder_asks_for_its_name() -> None:
    """No comparison with one, no import of one's folder; its folders and the registry know it, and nobody else."""
    found = []
    for path in (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))):
        if set(path.relative_to(ROOT).parts[:-1]) & set(registry.NAMES):
            continue
        text = path.read_text()
        if not any(name in text for name in registry.NAMES):
            continue
        for node in ast.walk(ast.parse(text)):
            inner = ast.walk(node) if isinstance(node, (ast.Compare, ast.MatchValue)) else ()
            named = {part.value for part in inner if isinstance(part, ast.Constant) and isinstance(part.value, str)}
            if isinstance(node, ast.ImportFrom) and node.module:
                named |= set(node.module.split(".")) & set(registry.NAMES) if "readers" not in node.module else set()
            if named & set(registry.NAMES):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not found

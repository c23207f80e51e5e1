"""Language models alone: conversion, serving and the dry run as `AutoModelForCausalLM` has it, and images refused.

`tests/training/modules/test_parity.py` compares losses and gradients.
"""

from pathlib import Path

import pytest
import torch
from tokenizers.processors import TemplateProcessing
from transformers import AutoModelForCausalLM
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from common.errors import UserError
from data.conversation import split_marks
from models import registry
from models.image_settings import ImageSettings
from models.language import rotary_share
from models.processor import describe, load_processor, write_image_settings
from models.text import special_tokens, tokenize
from models.text_processor import TextProcessor
from models.tokens.encoding import ConversationEncoder
from server.engine.engine import Engine, EngineConfig
from server.engine.model.prompt import build_prompt
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.engine.sampling import SamplingParams
from tests import tiny
from tests.conftest import ROOT
from tests.server.helpers import observation
from tests.tiny import text_only
from tests.tiny.idefics2 import make_tokenizer
from tests.toolkits.checkpoints import convert
from tests.training.conftest import train
from tests.training.modules.test_train_llava import LR, STEPS, PlainLoop
from toolkits.model_checkpoints_convertor.inspect_checkpoint import describe as inspect
from training.config import Config as TrainingConfig
from training.launch.launch import check_model
from training.launch.survey import Reading, check_samples
from training.layout import Layout
from training.memory.per_gpu import count_parameters, plan
from training.modules.language.rotary import frequencies

KINDS = {
    "llama": {},
    "llama tied": {"tie_word_embeddings": True},
    "qwen2": {},
    "qwen3": {"head_dim": 32},
    "glm": {"head_dim": 32},
}


SLOW_KINDS = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("llama tied", "qwen2")]


@pytest.fixture(scope="module", params=["llama", "qwen3", "glm", *SLOW_KINDS])
def policy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights so wide that no rounding changes a greedy reply."""
    folder = tmp_path_factory.mktemp("text") / "hf"
    options = {"layers": 2, "initializer_range": 0.1, **KINDS[request.param]}
    return text_only.build_policy(folder, request.param.split()[0], **options)


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return text_only.build_policy(tmp_path_factory.mktemp("llama") / "hf")


def test_conversion_is_exact_both_ways(policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    megatron = convert("hf2mg", policy, tmp_path / "megatron", verify=True)
    assert "0 images agree" in capsys.readouterr().out
    back = convert("mg2hf", megatron, tmp_path / "back")
    before, after = (AutoModelForCausalLM.from_pretrained(folder).state_dict() for folder in (policy, back))
    assert before.keys() == after.keys() and all(before[name].equal(after[name]) for name in before)
    assert "'num_hidden_layers': 2" in inspect(policy) and "'num_hidden_layers': 2" in inspect(megatron)


def test_the_server_says_what_generate_says(policy: Path) -> None:
    """Several at once, prompts in chunks, the second behind what was read for the first."""
    model = VisionLanguageModel(policy, LoadOptions(device="cpu"))
    engine = Engine(model, EngineConfig(max_batch_size=3, max_queue=8, prefill_chunk=16))
    params = SamplingParams(temperature=0, max_new_tokens=16, min_new_tokens=0)
    asked = []
    for text in (observation(1, 5), observation(1, 5) + " again", observation(2, 90)):
        messages = [{"role": "user", "content": split_marks(text)}]
        inputs = model.processor(model.processor.apply_chat_template(messages, add_generation_prompt=True))
        prompt = build_prompt(messages, [], model, engine.cache)
        assert prompt.token_ids == inputs["input_ids"]
        asked.append((engine.submit(prompt, params), torch.tensor([prompt.token_ids])))
    for future, ids in asked:
        expected = model.hf_model.generate(ids, do_sample=False, max_new_tokens=16, eos_token_id=model.eos_ids)
        assert future.result(60).token_ids == expected[0, ids.size(1) :].tolist()
    engine.stop()


def test_the_dry_run_counts_every_parameter(policy: Path) -> None:
    hf = registry.family(policy).read_config(policy)
    [count] = count_parameters(hf, Layout())
    num_padded = (1 if hf.tie_word_embeddings else 2) * (-hf.vocab_size % 128) * hf.hidden_size
    parameters = sum(p.numel() for p in AutoModelForCausalLM.from_pretrained(policy).parameters())
    assert (count.vision, count.connector, count.total) == (0, 0, parameters + num_padded)
    [stage] = plan(TrainingConfig(dataset_path=Path(), pretrain_checkpoint_path=policy, tp=1), hf, 1)
    assert stage.trainable == count.total and stage.activations > 0


def test_llama_3_1_has_its_published_size_and_frequencies() -> None:
    """Its release spells them as transformers did before 5."""
    folder = ROOT / "training" / "memory" / "shapes" / "llama-3.1-8b"
    hf = registry.family(folder).read_config(folder)
    [count] = count_parameters(hf, Layout())
    assert count.total == 8_030_261_248
    assert frequencies(hf).equal(LlamaRotaryEmbedding(hf).inv_freq)
    assert frequencies(hf)[-1] == pytest.approx(500000 ** (-126 / 128) / 8)


def test_glm_4_has_its_published_size_and_turns_half_of_a_head() -> None:
    folder = ROOT / "training" / "memory" / "shapes" / "glm-4-9b"
    hf = registry.family(folder).read_config(folder)
    [count] = count_parameters(hf, Layout())
    assert count.total == 9_399_951_360
    assert rotary_share(hf) == 0.5


def test_what_a_template_begins_with_is_not_added_again() -> None:
    """GLM-4's tokenizer adds two tokens, and its template writes them, too."""
    tokenizer = make_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["[gMASK]", "<sop>", "<|user|>"]})
    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in ("[gMASK]", "<sop>", "<|user|>")}
    tokenizer.bos_token = None
    backend, begin = tokenizer.backend_tokenizer, [("[gMASK]", ids["[gMASK]"]), ("<sop>", ids["<sop>"])]
    backend.post_processor = TemplateProcessing(single="[gMASK]:0 <sop>:0 $A:0", special_tokens=begin)
    whole = [ids["[gMASK]"], ids["<sop>"], ids["<|user|>"]]
    assert tokenizer("[gMASK]<sop><|user|>").input_ids == [*whole[:2], *whole]
    assert tokenize(TextProcessor(tokenizer), "[gMASK]<sop><|user|>").ids == whole


@pytest.mark.parametrize("first", ["", "{{ bos_token }}"])
def test_a_prompt_has_the_first_token_where_its_template_writes_it(llama: Path, first: str) -> None:
    """The tokenizer alone would add one, as TinyLlama's and those of many fine-tunes; transformers does not."""
    processor = load_processor(llama)
    assert processor.tokenizer("").input_ids == [processor.tokenizer.bos_token_id]
    processor.tokenizer.chat_template = first + processor.tokenizer.chat_template
    asked = [{"role": "user", "content": "hello"}]
    expected = processor.tokenizer.apply_chat_template(asked, add_generation_prompt=True, return_dict=True)["input_ids"]
    text = processor.apply_chat_template(
        [{"role": "user", "content": split_marks("hello")}], add_generation_prompt=True
    )
    assert tokenize(processor, text.rstrip(" ")).ids == expected


def test_a_reply_ends_where_training_teaches_it_to(tmp_path: Path) -> None:
    """A template that ends turns with a special token which no generation_config.json names."""
    folder = text_only.build_policy(tmp_path / "hf", "llama", layers=1)
    tokenizer = load_processor(folder).tokenizer
    end = next(token for token in sorted(special_tokens(tokenizer)) if token.startswith("<end"))
    tokenizer.chat_template = tokenizer.chat_template.replace("eos_token", f"'{end}'")
    tokenizer.save_pretrained(folder)
    model = VisionLanguageModel(folder, LoadOptions(device="cpu"))
    encoder = ConversationEncoder(model.processor, model.images, 512, 3, "answer")
    tokens = encoder.encode("a", [{"from": "human", "value": "go"}, {"from": "gpt", "value": "Click [3]"}], [])
    assert tokens.ids[-1] == tokenizer.convert_tokens_to_ids(end) and tokens.ids[-1] in model.eos_ids
    assert tokenizer.eos_token_id in model.eos_ids


def test_images_are_refused_in_one_line(llama: Path, tmp_path: Path) -> None:
    processor, kind = load_processor(llama), registry.family(llama)
    message = {"role": "user", "content": split_marks("<image>\nlook")}
    with pytest.raises(UserError, match=r"reads no images; collect with --text_only"):
        processor.apply_chat_template([message])
    shards = tiny.build_dataset(tmp_path / "shards", [tiny.sample(1)])
    with pytest.raises(UserError, match=r"sample task--00001--step01: 1 images, but this model reads no images"):
        check_samples(shards, Reading(llama, 4096, 3))
    with pytest.raises(UserError, match=r"--image_size 980: the model in .* reads no images"):
        load_processor(llama, ImageSettings(image_size=980))
    with pytest.raises(UserError, match=r"--image_size 980: .* has no image processor"):
        write_image_settings(llama, ImageSettings(image_size=980))
    assert describe(llama, processor) == "none are read"
    assert kind.image_encoder(processor, kind.read_config(llama)).num_tokens(768, 1024) == 0


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("llama", {"attention_bias": True}, '"attention_bias": true'),
        ("llama", {"rope_parameters": {**text_only.LLAMA3, "rope_type": "yarn"}}, "only silu, default and llama3 rope"),
        ("glm", {"attention_bias": False}, "attention_bias is false"),
        ("qwen2", {"use_sliding_window": True, "max_window_layers": 1, "sliding_window": 8}, "use_sliding_window"),
    ],
)
def test_what_is_not_computed_is_refused(tmp_path: Path, kind: str, options: dict[str, object], said: str) -> None:
    folder = text_only.build_policy(tmp_path, kind, layers=1, **options)
    with pytest.raises(UserError, match=said):
        registry.family(folder).read_config(folder)


def test_a_frozen_language_model_has_nothing_left_to_learn(llama: Path) -> None:
    config = TrainingConfig(dataset_path=Path(), pretrain_checkpoint_path=llama, tp=1, freeze_language=True)
    with pytest.raises(UserError, match=r"nothing is left to learn"):
        check_model(config, llama)


@pytest.mark.slow
def test_training_is_a_plain_loop_over_hugging_faces_model(llama: Path, tmp_path: Path) -> None:
    megatron = convert("hf2mg", llama, tmp_path / "megatron")
    samples = [tiny.sample(index, num_steps=1 + index % 3, with_images=False) for index in range(6)]
    options = {"global_batch_size": 6, "train_iters": STEPS, "lr": LR, "lr_schedule": "constant", "lr_warmup_iters": 0}
    shards = tiny.build_dataset(tmp_path / "shards", samples)
    losses = train("", shards, megatron, tmp_path, packing="true", **{**options, "batch_size": 1})
    assert losses == pytest.approx(PlainLoop(llama, samples).train(), abs=1e-4)
    assert losses[-1] < losses[0] - 0.1

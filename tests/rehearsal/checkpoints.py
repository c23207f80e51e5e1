"""Checkpoint folders as they are released, with random weights: the real configuration and processor of idefics2-8b and
of LLaVA-1.6-mistral at full width and reduced depth, or, for the tests, the same processor before a tiny model."""

import dataclasses
import json
import math
import shutil
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoModelForImageTextToText,
    Idefics2ImageProcessorPil,
    Idefics2Processor,
    LlavaNextImageProcessorPil,
    LlavaNextProcessor,
)

from common.files import read_json
from models.registry import family
from tests.conftest import ROOT
from tests.tiny.mistral_tokenizer import RELEASED, make_tokenizer

SHAPES = ROOT / "training" / "shapes"
_TEMPLATE = (  # of llava-v1.6-mistral-7b-hf: images first
    "{% for message in messages %}{% if message['role'] == 'user' %}{{ '[INST] ' }}"
    "{% for part in message['content'] | selectattr('type', 'equalto', 'image') %}{{ '<image>\n' }}{% endfor %}"
    "{% for part in message['content'] | selectattr('type', 'equalto', 'text') %}{{ part['text'] }}{% endfor %}"
    "{{ ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' ' + message['content'][0]['text'] + '</s> ' }}"
    "{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}"
)
_ATTENTION_SPREAD = 2.0
"""Standard deviation of attention's scores: a query sees a few dozen of a thousand keys, so an image matters."""


@dataclasses.dataclass(frozen=True)
class Depth:
    """Layers of the language model, of the vision tower and of idefics2's resampler."""

    language: int
    vision: int
    resampler: int


def make_checkpoint(folder: Path, model: str, depth: Depth, tiny: bool) -> Path:
    """Write a checkpoint of `model` ("idefics2" or "llava_next") in bf16 with its processor to `folder`."""
    name = {"idefics2": "idefics2-8b", "llava_next": "llava-v1.6-mistral-7b"}[model]
    fields = read_json(SHAPES / name / "config.json")
    fields["text_config"]["num_hidden_layers"] = depth.language
    fields["vision_config"]["num_hidden_layers"] = depth.vision
    if model == "idefics2":
        fields["perceiver_config"]["resampler_depth"] = depth.resampler
    if tiny:
        _make_tiny(fields)
    folder.mkdir(parents=True)
    _write_model(folder, fields)
    _write_idefics2_processor(folder) if model == "idefics2" else _write_llava_next_processor(folder, fields)
    return folder


def _make_tiny(fields: dict[str, Any]) -> None:
    """Other widths; what the processors know of, such as sizes in pixels and numbers of tokens, stays."""
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4}
    fields["text_config"] |= {**sizes, "num_key_value_heads": 2, "head_dim": 16}
    fields["vision_config"] |= sizes
    if "perceiver_config" in fields:
        heads = {"resampler_n_heads": 4, "resampler_head_dim": 16, "num_key_value_heads": 2}
        fields["perceiver_config"] |= {"hidden_size": 64, **heads}


def _write_model(folder: Path, fields: dict[str, Any]) -> None:
    """Random weights that keep activations at a standard deviation of about one, whatever the widths."""
    (folder / "config.json").write_text(json.dumps(fields, indent=2))
    hf = family(folder).read_config(folder)
    with torch.device("meta"):
        model = AutoModelForImageTextToText.from_config(hf, dtype=torch.bfloat16)
    model = model.to_empty(device="cpu")
    generator = torch.Generator().manual_seed(0)
    for name, parameter in model.named_parameters():
        _draw(name, parameter.data, generator)
    model.generation_config.update(eos_token_id=2, pad_token_id=0, bos_token_id=1)
    if hf.model_type == "idefics2":  # as released: a reply has no image, and a trained model hardly wants one
        model.generation_config.update(eos_token_id=[2, 32002], bad_words_ids=[[32000], [32001]])
        model.lm_head.weight.data[32000:32002] = 0
    model.save_pretrained(folder)


def _draw(name: str, weight: torch.Tensor, generator: torch.Generator) -> None:
    if weight.dim() == 1:
        weight.normal_(std=0.02, generator=generator)
        if "norm" in name and name.endswith("weight"):
            weight.add_(1.0)
        return
    if "embed" in name or "latents" in name:
        weight.normal_(generator=generator)
        return
    spread = math.sqrt(_ATTENTION_SPREAD) if "q_proj" in name or "k_proj" in name else 1.0
    weight.normal_(std=spread / math.sqrt(weight[0].numel()), generator=generator)


def _write_idefics2_processor(folder: Path) -> None:
    """The released files, or ours that say the same."""
    if RELEASED.is_dir():
        for path in RELEASED.iterdir():
            if path.name not in ("config.json", "generation_config.json", "model.safetensors.index.json"):
                shutil.copyfile(path, folder / path.name)
        return
    images = Idefics2ImageProcessorPil(size={"longest_edge": 980, "shortest_edge": 378}, do_image_splitting=True)
    tokenizer = make_tokenizer(("<fake_token_around_image>", "<image>", "<end_of_utterance>"))
    Idefics2Processor(images, tokenizer, image_seq_len=64).save_pretrained(folder)


def _write_llava_next_processor(folder: Path, fields: dict[str, Any]) -> None:
    vision = fields["vision_config"]
    side = vision["image_size"]
    images = LlavaNextImageProcessorPil(
        size={"shortest_edge": side},
        crop_size={"height": side, "width": side},
        image_grid_pinpoints=fields["image_grid_pinpoints"],
    )
    processor = LlavaNextProcessor(
        images,
        make_tokenizer(("<image>", "<pad>")),
        patch_size=vision["patch_size"],
        vision_feature_select_strategy=fields["vision_feature_select_strategy"],
        num_additional_image_tokens=1,
        chat_template=_TEMPLATE,
    )
    processor.save_pretrained(folder)

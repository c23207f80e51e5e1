"""Checkpoint folders as they are released, with random weights in bf16: a published configuration, as it is or with
fewer layers, and its processor (`processors.py`)."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForImageTextToText

from common.files import read_json
from models.registry import family
from tests.conftest import ROOT
from tests.rehearsal.processors import write_processor

SHAPES = ROOT / "training" / "memory" / "shapes"
Changes = Mapping[str, Mapping[str, Any]]
"""What of a configuration's parts differs from the published one, by part: {"text_config": {...}, ...}."""

_GENERATION: dict[str, dict[str, Any]] = {  # as released
    # a reply has no image, and a trained model hardly wants one:
    "idefics2": {"bos_token_id": 1, "pad_token_id": 0, "eos_token_id": [2, 32002], "bad_words_ids": [[32000], [32001]]},
    "idefics3": {"bos_token_id": 1, "pad_token_id": 2, "eos_token_id": 49279},
    "llava_next": {"bos_token_id": 1, "pad_token_id": 0, "eos_token_id": 2},
    "qwen3_vl": {"bos_token_id": 151643, "pad_token_id": 151643, "eos_token_id": [151645, 151643]},
}
_ATTENTION_SPREAD = 2.0
"""Standard deviation of attention's scores: a query sees a few dozen of a thousand keys, so an image matters."""


def make_checkpoint(folder: Path, shape: str, changes: Changes, device: str = "cpu") -> Path:
    """Write a checkpoint of `shape`, a folder in training/memory/shapes, in bf16 with its processor to `folder`.
    `device` draws the weights."""
    fields = read_json(SHAPES / shape / "config.json")
    for part, values in changes.items():
        fields[part] |= values
    for part in (fields, *(fields[name] for name in fields if name.endswith("_config"))):
        part["dtype"] = "bfloat16"
    folder.mkdir(parents=True)
    config, text = folder / "config.json", json.dumps(fields, indent=2)
    config.write_text(text)
    _write_model(folder, device)
    config.write_text(text)  # as it is published rather than as transformers writes it
    write_processor(folder, fields)
    return folder


def _write_model(folder: Path, device: str) -> None:
    """Random weights that keep activations at a standard deviation of about one, whatever the widths."""
    hf = family(folder).read_config(folder)
    with torch.device("meta"):
        model = AutoModelForImageTextToText.from_config(hf, dtype=torch.bfloat16)
    model = model.to_empty(device=device)
    model.tie_weights()
    generator = torch.Generator(device).manual_seed(0)
    for name, parameter in model.named_parameters():
        _draw(name, parameter.data, generator)
    if hf.tie_word_embeddings:  # what makes logits of about one
        embeddings = model.get_input_embeddings().weight.data
        embeddings.mul_(embeddings.size(1) ** -0.5)
    model.generation_config.update(**_GENERATION[hf.model_type])
    if hf.model_type == "idefics2":
        model.lm_head.weight.data[32000:32002] = 0
    model.save_pretrained(folder)


def _draw(name: str, weight: torch.Tensor, generator: torch.Generator) -> None:
    spread = math.sqrt(_ATTENTION_SPREAD)
    if weight.dim() == 1:
        weight.normal_(std=0.02, generator=generator)
        if "norm" in name and name.endswith("weight"):
            weight.add_(spread if "q_norm" in name or "k_norm" in name else 1.0)
        return
    if ("embed" in name and "proj" not in name) or "latents" in name:
        weight.normal_(generator=generator)
        return
    width = spread if "q_proj" in name or "k_proj" in name else 1.0
    weight.normal_(std=width / math.sqrt(weight[0].numel()), generator=generator)
    if "attn.qkv" in name:
        weight[: 2 * len(weight) // 3].mul_(spread)

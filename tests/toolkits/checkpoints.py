"""Small checkpoints of any shape, with random weights in every tensor."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import Idefics2Config, Idefics2ForConditionalGeneration

from tests import forked
from toolkits.model_checkpoints_convertor import verify
from toolkits.model_checkpoints_convertor.convert import Config, main

IDEFICS2 = {
    "model_type": "idefics2",
    "architectures": ["Idefics2ForConditionalGeneration"],
    "image_token_id": 3,
    "tie_word_embeddings": False,
    "text_config": {
        "model_type": "mistral",
        "vocab_size": 131,
        "hidden_size": 64,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 4,
        "pad_token_id": 0,
        "tie_word_embeddings": False,
    },
    "vision_config": {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 8,
        "image_size": 56,
        "patch_size": 14,
    },
    "perceiver_config": {
        "hidden_size": 64,
        "resampler_n_latents": 4,
        "resampler_depth": 2,
        "resampler_n_heads": 16,
        "resampler_head_dim": 4,
        "num_key_value_heads": 4,
    },
}
"""idefics2-8b's numbers of heads, all else small: TP=8 divides it, its vocabulary is odd."""


def build_idefics2(folder: Path, dtype: torch.dtype = torch.float32, **changes: Any) -> dict[str, torch.Tensor]:
    """A Hugging Face folder of random weights; `changes` are fields of the perceiver. Returns the tensors."""
    fields = {**IDEFICS2, "perceiver_config": {**IDEFICS2["perceiver_config"], **changes}}
    with torch.device("meta"):
        shapes = Idefics2ForConditionalGeneration(Idefics2Config.from_dict(fields)).state_dict()
    generator = torch.Generator().manual_seed(0)
    tensors = {name: torch.randn(shape.shape, generator=generator).to(dtype) for name, shape in shapes.items()}
    folder.mkdir(parents=True)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(fields))
    (folder / "tokenizer.json").write_text("{}")
    return tensors


def convert(direction: str, load_path: Path, save_path: Path, **flags: Any) -> Path:
    """As the command does, in this process; `verify` computes Megatron's logits in a fork."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify, "subprocess", SimpleNamespace(run=forked.run))
        main(Config(direction=direction, load_path=load_path, save_path=save_path, **flags))
    return save_path


def read_hf(folder: Path) -> dict[str, torch.Tensor]:
    """All tensors of a Hugging Face folder."""
    return {name: tensor for path in folder.glob("model*.safetensors") for name, tensor in load_file(path).items()}


def same(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> bool:
    """Bitwise, in names, types and values."""
    return left.keys() == right.keys() and all(
        left[name].dtype == right[name].dtype and left[name].equal(right[name]) for name in left
    )

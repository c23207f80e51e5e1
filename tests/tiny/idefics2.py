"""A tiny idefics2 with random weights and its processor, in the shape of the quickstart's starting policy."""

import random
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast, ProcessorMixin

from examples.quickstart.starting_policy.policy import NUM_LATENTS, make_model, make_processor
from examples.quickstart.starting_policy.policy import make_tokenizer as train_tokenizer
from tests.tiny.samples import text

__all__ = ["NUM_LATENTS", "build_decisive_policy", "build_policy", "make_tokenizer", "save"]


def build_policy(
    folder: Path, vocab_size: int = 512, hidden: int = 64, kv_heads: int = 2, image_size: int = 112, **options: Any
) -> Path:
    """Write it in fp32 to `folder`; `options` are those of the quickstart's `make_model`."""
    tokenizer = make_tokenizer(vocab_size)
    torch.manual_seed(0)
    sizes = {"hidden": hidden, "kv_heads": kv_heads, "image_size": image_size, "patch_size": 16}
    model = make_model(tokenizer, vision_intermediate=128, **sizes, **options)
    return save(folder, model, make_processor(tokenizer, image_size, image_size * 378 // 980))


def build_decisive_policy(folder: Path, hidden: int = 64, **options: Any) -> Path:
    """The same with weights so wide that no rounding changes a greedy reply, for tests of the server."""
    sizes = {"layers": 2, "kv_heads": 4, "image_size": 224, "initializer_range": 0.1}
    return build_policy(folder, hidden=hidden, **sizes, **options)


def make_tokenizer(vocab_size: int = 512) -> PreTrainedTokenizerFast:
    """Trained on the random words of samples."""
    return train_tokenizer((text(random.Random(seed), 50) for seed in range(50)), vocab_size)


def save(folder: Path, model: PreTrainedModel, processor: ProcessorMixin) -> Path:
    """Write both to `folder` and return it; norms and biases become random too, so that a mix-up of them shows."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.02)
            parameter.copy_(parameter.bfloat16())  # fp32 and bf16 are compared on the same weights
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder

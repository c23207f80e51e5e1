"""A tiny Qwen3-VL with random weights and its processor."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerFast,
    ProcessorMixin,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from models.qwen3_vl.chat_template import CHAT_TEMPLATE
from models.qwen3_vl.processor import Qwen3VLProcessor
from tests.tiny.idefics2 import make_tokenizer, save

PATCH, MERGE = 8, 2
_SPECIAL = ("<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|image_pad|>", "<|vision_end|>", "<|video_pad|>")


def build_policy(
    folder: Path,
    layers: int = 6,
    tied: bool = True,
    taps: tuple[int, ...] = (0, 1, 2),
    tower: Mapping[str, Any] = MappingProxyType({}),
    **text: Any,
) -> Path:
    """Write it in fp32 with its processor to `folder`: grouped queries, wider than the hidden states; `text` goes to
    its language model's configuration, `tower` to the vision side's, whose layers `taps` decoder layers see."""
    tokenizer = make_qwen_tokenizer()
    torch.manual_seed(0)
    language = {
        **{"vocab_size": len(tokenizer), "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": layers},
        **{"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 8192},
        "rope_parameters": {"rope_type": "default", "rope_theta": 5e6, "mrope_section": [4, 2, 2]},
        **{"pad_token_id": 0, **text},
    }
    vision = {
        **{"depth": 4, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2},
        **{"patch_size": PATCH, "spatial_merge_size": MERGE, "num_position_embeddings": 25, **tower},
        **{"deepstack_visual_indexes": list(taps), "out_hidden_size": language["hidden_size"]},
    }
    config = Qwen3VLConfig(
        text_config=language, vision_config=vision, tie_word_embeddings=tied, **special_ids(tokenizer)
    )
    return save_with_processor(folder, Qwen3VLForConditionalGeneration(config), tokenizer, Qwen3VLProcessor)


def make_qwen_tokenizer() -> PreTrainedTokenizerFast:
    """With the special tokens of every Qwen-VL."""
    tokenizer = make_tokenizer()
    tokenizer.add_tokens(list(_SPECIAL), special_tokens=True)
    return tokenizer


def special_ids(tokenizer: PreTrainedTokenizerFast) -> dict[str, int]:
    """As a configuration names them."""
    names = {"vision_start": "vision_start", "vision_end": "vision_end", "image": "image_pad", "video": "video_pad"}
    return {f"{name}_token_id": tokenizer.convert_tokens_to_ids(f"<|{token}|>") for name, token in names.items()}


def save_with_processor(
    folder: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, processor: type[ProcessorMixin]
) -> Path:
    """To `folder`, with images of 4 to 24 features."""
    model.generation_config.eos_token_id = tokenizer.convert_tokens_to_ids("<|im_end|>")
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    images = Qwen2VLImageProcessorPil(
        **{"patch_size": PATCH, "merge_size": MERGE, "image_mean": [0.5] * 3, "image_std": [0.5] * 3},
        size={"shortest_edge": 4 * (PATCH * MERGE) ** 2, "longest_edge": 24 * (PATCH * MERGE) ** 2},
    )
    return save(folder, model, processor(images, tokenizer, chat_template=CHAT_TEMPLATE))

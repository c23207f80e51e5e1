"""The parts of a small real Qwen3-VL whose tokens and sizes are those of a small Idefics2."""

import json

from policy import fast_tokenizer
from tokenizers import Tokenizer
from transformers import (
    Idefics2Config,
    PreTrainedTokenizerFast,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from models.qwen3_vl.chat_template import CHAT_TEMPLATE
from models.qwen3_vl.processor import Qwen3VLProcessor

RENAMED = {
    "<fake_token_around_image>": "<|vision_start|>",
    "<image>": "<|image_pad|>",
    "<end_of_utterance>": "<|im_end|>",
}
"""Idefics2's special tokens and those of the same role."""
ADDED = {"<|vision_end|>": "<|vision_start|>", "<|im_start|>": "<s>", "<|video_pad|>": "<unk>"}
"""Special tokens that Idefics2 has none for, and those whose embeddings they begin with."""
ROWS_ADDED = 8
"""How many numbers a head has more than the Idefics2's: for `transplant`, in a multiple that attention kernels like."""
_PATCH, _MERGE = 20, 2
_FEATURE = (_PATCH * _MERGE) ** 2  # pixels of an image token


def make_tokenizer(idefics2: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
    """The same tokens under the same ids; those of `ADDED` come behind them."""
    text = idefics2.backend_tokenizer.to_str()
    for old, new in RENAMED.items():
        text = text.replace(json.dumps(old), json.dumps(new))
    tokenizer = Tokenizer.from_str(text)
    tokenizer.add_special_tokens(list(ADDED))
    return fast_tokenizer(tokenizer, [*RENAMED.values(), *ADDED])


def make_processor(tokenizer: PreTrainedTokenizerFast) -> Qwen3VLProcessor:
    """A 1024x768 screenshot becomes 160x120 pixels, 48 patches, 12 image tokens; none becomes more."""
    images = Qwen2VLImageProcessorPil(
        **{"patch_size": _PATCH, "merge_size": _MERGE, "image_mean": [0.5] * 3, "image_std": [0.5] * 3},
        size={"shortest_edge": 4 * _FEATURE, "longest_edge": 12 * _FEATURE + 1},  # one more: the scale is rounded
    )
    return Qwen3VLProcessor(images, tokenizer, chat_template=CHAT_TEMPLATE)


def make_model(idefics2: Idefics2Config, tokenizer: PreTrainedTokenizerFast) -> Qwen3VLForConditionalGeneration:
    """With fresh weights, a language model of the sizes of `idefics2`, a tower of three layers and two deepstack taps.

    Heads are `ROWS_ADDED` wider. The frequencies of their rotary pairs begin with the Idefics2's, whose base is
    therefore taken to the power of new width / old width; slower ones follow.
    """
    old = idefics2.text_config
    width = old.head_dim + ROWS_ADDED
    third = width // 2 // 3
    kept = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads")
    kept += ("max_position_embeddings", "rms_norm_eps", "pad_token_id", "bos_token_id", "eos_token_id")
    rope = {
        **{"rope_type": "default", "rope_theta": round(old.rope_parameters["rope_theta"] ** (width / old.head_dim))},
        **{"mrope_section": [width // 2 - 2 * third, third, third], "mrope_interleaved": True},
    }
    text = {**{name: getattr(old, name) for name in kept}, "head_dim": width, "rope_parameters": rope}
    vision = {
        **{"depth": 3, "hidden_size": 64, "intermediate_size": 192, "num_heads": 2, "deepstack_visual_indexes": [0, 1]},
        **{"patch_size": _PATCH, "spatial_merge_size": _MERGE, "num_position_embeddings": 64},
        "out_hidden_size": old.hidden_size,
    }
    names = {"vision_start": "vision_start", "vision_end": "vision_end", "image": "image_pad", "video": "video_pad"}
    ids = {f"{name}_token_id": tokenizer.convert_tokens_to_ids(f"<|{token}|>") for name, token in names.items()}
    config = Qwen3VLConfig(
        text_config={**text, "vocab_size": len(tokenizer)}, vision_config=vision, tie_word_embeddings=True, **ids
    )
    return Qwen3VLForConditionalGeneration(config)

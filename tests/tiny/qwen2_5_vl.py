"""A tiny Qwen2.5-VL with random weights and its processor."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

from models.qwen2_5_vl.processor import Qwen2_5_VLProcessor
from tests.tiny.qwen3_vl import MERGE, PATCH, make_qwen_tokenizer, save_with_processor, special_ids


def build_policy(
    folder: Path, layers: int = 4, tied: bool = False, tower: Mapping[str, Any] = MappingProxyType({}), **text: Any
) -> Path:
    """Write it in fp32 with its processor to `folder`: grouped queries, windows of 2 x 2 features in the tower's first
    and last layer; `text` goes to its language model's configuration, `tower` to the vision side's."""
    tokenizer = make_qwen_tokenizer()
    torch.manual_seed(0)
    language = {
        **{"vocab_size": len(tokenizer), "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": layers},
        **{"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 8192, "rms_norm_eps": 1e-6},
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 3, 3]},
        **{"pad_token_id": 0, "bos_token_id": None, "eos_token_id": None, **text},
    }
    vision = {
        **{"depth": 3, "hidden_size": 32, "intermediate_size": 48, "num_heads": 2},
        **{"patch_size": PATCH, "spatial_merge_size": MERGE, "window_size": 4 * PATCH, "fullatt_block_indexes": [1]},
        **{"out_hidden_size": language["hidden_size"], **tower},
    }
    config = Qwen2_5_VLConfig(
        text_config=language, vision_config=vision, tie_word_embeddings=tied, **special_ids(tokenizer)
    )
    return save_with_processor(folder, Qwen2_5_VLForConditionalGeneration(config), tokenizer, Qwen2_5_VLProcessor)

"""A tiny Idefics3 or SmolVLM2 with random weights and its processor."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from transformers import AutoModelForImageTextToText, Idefics3Processor
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil

from models.idefics2.chat_template import CHAT_TEMPLATE
from tests.tiny.idefics2 import make_tokenizer, save

TILE, PATCH, SHUFFLE = 32, 8, 2


def build_policy(
    folder: Path,
    name: str = "idefics3",
    layers: int = 4,
    splits: bool = True,
    tower: Mapping[str, Any] = MappingProxyType({}),
    **options: Any,
) -> Path:
    """Write it in fp32 with its processor to `folder`; `options` are those of its language model, and `tied`; `tower`
    those of its vision side."""
    tokenizer = make_tokenizer()
    places = [f"<row_{row}_col_{column}>" for row in (1, 2) for column in (1, 2)]
    tokenizer.add_tokens(["<global-img>", *places], special_tokens=True)
    torch.manual_seed(0)
    text = {
        **{"model_type": "llama", "vocab_size": len(tokenizer), "hidden_size": 72, "intermediate_size": 128},
        **{"num_hidden_layers": layers, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16},
        **{"max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "pad_token_id": 0},
        "rope_parameters": {"rope_type": "default", "rope_theta": 100000.0},
    }
    tied = options.pop("tied", True)
    text.update(options)
    vision = {
        **{"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2},
        **{"image_size": TILE, "patch_size": PATCH, **tower},
    }
    token = tokenizer.convert_tokens_to_ids("<image>")
    config = CONFIG_MAPPING[name](
        image_token_id=token, scale_factor=SHUFFLE, text_config=text, vision_config=vision, tie_word_embeddings=tied
    )
    model = AutoModelForImageTextToText.from_config(config)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    images = Idefics3ImageProcessorPil(
        size={"longest_edge": 2 * TILE}, max_image_size={"longest_edge": TILE}, do_image_splitting=splits
    )
    features = (TILE // PATCH // SHUFFLE) ** 2
    processor = Idefics3Processor(images, tokenizer, image_seq_len=features, chat_template=CHAT_TEMPLATE)
    return save(folder, model, processor)

"""Tiny LLaVA and LLaVA-NeXT with random weights and their processors."""

from pathlib import Path
from typing import Any

import torch
from transformers import (
    CLIPImageProcessorPil,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaNextConfig,
    LlavaNextForConditionalGeneration,
    LlavaNextImageProcessorPil,
    LlavaNextProcessor,
    LlavaProcessor,
)

from tests.tiny.idefics2 import make_tokenizer, save

SIZE, PATCH = 48, 16
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'].upper() + ': ' }}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'text' %}{{ part['text'] }}{% else %}{{ '<image>\n' }}{% endif %}{% endfor %}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% else %}{{ ' ' }}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"
)


def build_policy(
    folder: Path,
    is_next: bool,
    kv_heads: int = 2,
    text: str = "llama",
    layers: int = 4,
    initializer_range: float = 0.02,
    **options: Any,
) -> Path:
    """Write a random model in fp32 with its processor to `folder`; `options` go to its configuration."""
    tokenizer = make_tokenizer()
    torch.manual_seed(0)
    sizes = {"vocab_size": len(tokenizer), "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": layers}
    heads = {"num_attention_heads": 4, "num_key_value_heads": kv_heads, "head_dim": 16, "rms_norm_eps": 1e-5}
    window = {"sliding_window": options.pop("sliding_window", None)} if text == "mistral" else {}
    language = {
        **{"model_type": text, **sizes, **heads, **window, "max_position_embeddings": 8192, "pad_token_id": 0},
        "initializer_range": initializer_range,
    }
    vision = {
        **{"model_type": "clip_vision_model", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3},
        **{"num_attention_heads": 2, "image_size": SIZE, "patch_size": PATCH, "projection_dim": 32},
    }
    image_token = tokenizer.convert_tokens_to_ids("<image>")
    common = {"image_token_index": image_token, "text_config": language, "vision_config": vision, **options}
    processing: dict[str, Any] = {
        **{"patch_size": PATCH, "num_additional_image_tokens": 1, "chat_template": CHAT_TEMPLATE},
        "vision_feature_select_strategy": options.get("vision_feature_select_strategy", "default"),
    }
    shape = {"size": {"shortest_edge": SIZE}, "crop_size": {"height": SIZE, "width": SIZE}}
    if is_next:
        grid = [[SIZE, 2 * SIZE], [2 * SIZE, SIZE], [2 * SIZE, 2 * SIZE], [3 * SIZE, SIZE]]
        model = LlavaNextForConditionalGeneration(LlavaNextConfig(**common, image_grid_pinpoints=grid))
        images = LlavaNextImageProcessorPil(**shape, image_grid_pinpoints=grid)
        processor = LlavaNextProcessor(images, tokenizer, **processing)
    else:
        model = LlavaForConditionalGeneration(LlavaConfig(**common))
        processor = LlavaProcessor(CLIPImageProcessorPil(**shape), tokenizer, **processing)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return save(folder, model, processor)


def build_decisive_policy(folder: Path, is_next: bool) -> Path:
    """The same with weights so wide that no rounding changes a greedy reply, for tests of the server."""
    return build_policy(folder, is_next, layers=2, initializer_range=0.1)

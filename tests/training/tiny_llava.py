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

from tests.training import tiny

SIZE, PATCH = 48, 16
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'].upper() + ': ' }}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'text' %}{{ part['text'] }}{% else %}{{ '<image>\n' }}{% endif %}{% endfor %}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% else %}{{ ' ' }}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"
)


def build_policy(folder: Path, is_next: bool, kv_heads: int = 2, text: str = "llama", **options: Any) -> Path:
    """Write a random model in fp32 with its processor to `folder`; `options` go to its configuration."""
    tokenizer = tiny.make_tokenizer(512)
    torch.manual_seed(0)
    sizes = {"vocab_size": len(tokenizer), "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4}
    heads = {"num_attention_heads": 4, "num_key_value_heads": kv_heads, "head_dim": 16, "rms_norm_eps": 1e-5}
    window = {"sliding_window": options.pop("sliding_window", None)} if text == "mistral" else {}
    language = {"model_type": text, **sizes, **heads, **window, "max_position_embeddings": 8192, "pad_token_id": 0}
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
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.02)  # norms and biases too, so that a mix-up shows
            parameter.copy_(parameter.bfloat16())  # fp32 and bf16 are compared on the same weights
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder

"""Tiny real LLaVA and LLaVA-NeXT policies with random weights, saved as Hugging Face folders."""

from pathlib import Path

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

from tests.server.tiny_model import make_tokenizer

CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'].upper() + ': ' }}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'text' %}{{ part['text'] }}{% else %}{{ '<image>\n' }}{% endif %}{% endfor %} "
    "{% endfor %}{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"
)
IMAGE, PATCH, HIDDEN = 64, 16, 64


def save_tiny_llava(folder: Path, is_next: bool) -> Path:
    """Save model and processor into `folder` and return it."""
    torch.manual_seed(0)
    tokenizer = make_tokenizer()
    text = {
        "model_type": "llama",
        "vocab_size": len(tokenizer),
        "hidden_size": HIDDEN,
        "intermediate_size": 2 * HIDDEN,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 4096,
        "initializer_range": 0.1,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    vision = {
        "model_type": "clip_vision_model",
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "image_size": IMAGE,
        "patch_size": PATCH,
        "projection_dim": 32,
    }
    common = {"image_token_index": tokenizer.convert_tokens_to_ids("<image>"), "text_config": text}
    options = {
        "patch_size": PATCH,
        "vision_feature_select_strategy": "default",
        "num_additional_image_tokens": 1,
        "chat_template": CHAT_TEMPLATE,
    }
    sizes = {"size": {"shortest_edge": IMAGE}, "crop_size": {"height": IMAGE, "width": IMAGE}}
    if is_next:
        grid = [[IMAGE, 2 * IMAGE], [2 * IMAGE, IMAGE], [2 * IMAGE, 2 * IMAGE]]
        model = LlavaNextForConditionalGeneration(
            LlavaNextConfig(**common, vision_config=vision, image_grid_pinpoints=grid)
        )
        images = LlavaNextImageProcessorPil(**sizes, image_grid_pinpoints=grid)
        processor = LlavaNextProcessor(images, tokenizer, **options)
    else:
        model = LlavaForConditionalGeneration(LlavaConfig(**common, vision_config=vision))
        processor = LlavaProcessor(CLIPImageProcessorPil(**sizes), tokenizer, **options)
    model.generation_config.eos_token_id = 2
    model.generation_config.pad_token_id = 0
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder

"""A tiny ViP-LLaVA with random weights."""

from pathlib import Path

import torch
from transformers import CLIPImageProcessorPil, LlavaProcessor, VipLlavaConfig, VipLlavaForConditionalGeneration

from tests.tiny.idefics2 import make_tokenizer, save
from tests.tiny.llava import PATCH, SIZE

_MARK = "<picture>"
_CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'].capitalize() + ': ' }}"
    "{% for part in message['content'] %}{% if part['type'] == 'text' %}{{ part['text'] }}"
    f"{{% else %}}{{{{ '{_MARK}' }}}}{{% endif %}}{{% endfor %}}"
    "{% if message['role'] == 'assistant' %}{{ '<end_of_utterance>' }}{% else %}{{ ' ' }}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}{{ 'Assistant: ' }}{% endif %}"
)


def build_policy(folder: Path) -> Path:
    """Write it in fp32 with its processor to `folder`: grouped queries, features of two layers."""
    tokenizer = make_tokenizer()
    tokenizer.add_tokens([_MARK], special_tokens=True)
    torch.manual_seed(0)
    text = {
        **{"model_type": "llama", "vocab_size": len(tokenizer), "hidden_size": 64, "intermediate_size": 128},
        **{"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16},
        **{"max_position_embeddings": 8192, "pad_token_id": 0, "eos_token_id": 2, "initializer_range": 0.1},
    }
    vision = {
        **{"model_type": "clip_vision_model", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3},
        **{"num_attention_heads": 2, "image_size": SIZE, "patch_size": PATCH, "projection_dim": 32},
    }
    image_token = tokenizer.convert_tokens_to_ids(_MARK)
    config = VipLlavaConfig(
        text_config=text, vision_config=vision, image_token_index=image_token, vision_feature_layer=[-2, 1]
    )
    model = VipLlavaForConditionalGeneration(config)
    shape = {"size": {"shortest_edge": SIZE}, "crop_size": {"height": SIZE, "width": SIZE}}
    processor = LlavaProcessor(
        CLIPImageProcessorPil(**shape),
        tokenizer,
        patch_size=PATCH,
        num_additional_image_tokens=1,
        vision_feature_select_strategy="default",
        image_token=_MARK,
        chat_template=_CHAT_TEMPLATE,
    )
    return save(folder, model, processor)

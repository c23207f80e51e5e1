"""Tiny Llama, Qwen2 and Qwen3 with random weights and their tokenizer."""

from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from models.text_processor import TextProcessor
from tests.tiny.idefics2 import make_tokenizer, save

# Wavelengths of a head of 16 numbers are 6, 33, 185, ...: some are kept, some smoothed, some slowed down.
LLAMA3 = {
    **{"rope_type": "llama3", "rope_theta": 1000000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    "original_max_position_embeddings": 1024,
}
_CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] + ':\n' + message['content'] | trim + eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant:\n' }}{% endif %}"
)


def build_policy(folder: Path, kind: str = "llama", layers: int = 4, **options: Any) -> Path:
    """Write it in fp32 to `folder`: grouped queries, untied, a Llama with scaled frequencies; `options` go to its
    configuration."""
    tokenizer = make_tokenizer()
    tokenizer.chat_template = _CHAT_TEMPLATE
    torch.manual_seed(0)
    config = {
        **{"vocab_size": len(tokenizer), "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": layers},
        **{"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 8192, "pad_token_id": 0},
        **({"rope_parameters": LLAMA3} if kind == "llama" else {}),
        **{"eos_token_id": tokenizer.eos_token_id, "bos_token_id": tokenizer.bos_token_id},
    }
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **(config | options)))
    return save(folder, model, TextProcessor(tokenizer))

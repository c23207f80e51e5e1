"""What of a Hugging Face `text_config` is supported: Llama and Mistral of the usual kind."""

import json
from pathlib import Path
from typing import Any

from common.errors import UserError


def check_text(path: Path, text: Any) -> None:
    """`UserError`, naming the file `path`, when `text` is no Llama or Mistral of the usual kind."""
    if text.model_type not in ("llama", "mistral"):
        raise UserError(f"{path}: its language model is a {text.model_type!r}; supported: llama, mistral")
    unusual = {
        "hidden_act": text.hidden_act if text.hidden_act != "silu" else None,
        "rope_parameters": text.rope_parameters if text.rope_parameters.get("rope_type", "default") != "default" else 0,
        "attention_bias": getattr(text, "attention_bias", False),
        "mlp_bias": getattr(text, "mlp_bias", False),
    }
    if any(unusual.values()):
        found = json.dumps({name: value for name, value in unusual.items() if value})
        raise UserError(f"{path}: only silu, default rope and layers without biases are supported, not {found}")


def sliding_window(text: Any) -> int | None:
    """How many positions, its own included, a token sees; None: all before it."""
    return getattr(text, "sliding_window", None)

"""What of a Hugging Face text configuration is supported: Llama, Mistral and the Qwens' of the usual kind."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError

SCALED = ("llama3",)
"""Kinds of scaled rotary frequencies that are computed, where a token has one position."""
GROWING = ("dynamic", "longrope")
"""Kinds whose frequencies depend on how long the text is."""


def check_text(path: Path, text: Any, kinds: Sequence[str] = ("llama", "mistral"), has_qkv_bias: bool = False) -> None:
    """`UserError`, naming the file `path`, when `text` is none of `kinds`, or not of the usual kind."""
    if text.model_type not in kinds:
        raise UserError(f"{path}: its language model is a {text.model_type!r}; supported: {', '.join(kinds)}")
    ropes = ("default",) if mrope_section(text) else ("default", *SCALED)
    unusual = {
        "hidden_act": text.hidden_act if text.hidden_act != "silu" else None,
        "rope_parameters": text.rope_parameters if text.rope_parameters.get("rope_type", "default") not in ropes else 0,
        "attention_bias": getattr(text, "attention_bias", False) and not has_qkv_bias,
        "mlp_bias": getattr(text, "mlp_bias", False),
    }
    if any(unusual.values()):
        found = json.dumps({name: value for name, value in unusual.items() if value})
        raise UserError(
            f"{path}: only silu, default and llama3 rope and layers without biases are supported, not {found}"
        )


def sliding_window(text: Any) -> int | None:
    """How many positions, its own included, a token sees in every layer; None: all before it."""
    return None if _layer_types(text) == {"full_attention"} else getattr(text, "sliding_window", None)


def refuse_window(path: Path, text: Any) -> None:
    """`UserError`, naming the file `path`, where some layers may have a window and others none."""
    if getattr(text, "sliding_window", None):
        raise UserError(f"{path}: use_sliding_window is true, but only some of its layers have a window")


def check_served(path: Path, text: Any) -> None:
    """`UserError`, naming the file `path`, for what a server cannot compute that lets transformers make the layers."""
    if len(_layer_types(text)) > 1:
        refuse_window(path, text)
    if (rope := text.rope_parameters.get("rope_type")) in GROWING:
        raise UserError(
            f"{path}: rope_type is {rope!r}, whose frequencies follow the longest of the prompts that are computed "
            "together; yarn and llama3 are served"
        )


def _layer_types(text: Any) -> set[str]:
    return set(getattr(text, "layer_types", None) or ())


def rotary_share(text: Any) -> float:
    """How much of a head is rotated, from its first number on."""
    return text.rope_parameters.get("partial_rotary_factor", 1.0)


def mrope_section(text: Any) -> list[int] | None:
    """How many of a head's frequencies belong to time, row and column; None: all to the one position of a token."""
    return text.rope_parameters.get("mrope_section")

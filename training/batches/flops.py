"""How many floating-point operations a step needs, as a model, and how many a GPU could do.

Counted is what the model asks for: real tokens, without padding, recomputation, or logits and positions of the last
layer that no label wants; a backward pass is two forward passes. Source: Kaplan et al. 2020, appendix B; attention as
in Chowdhery et al. 2022 (PaLM), appendix B, but causal.
"""

from collections.abc import Sequence
from typing import Any

import torch

_PEAK_TFLOPS = {  # dense bf16, from the makers' data sheets
    "B200": 2250,
    "H200": 989,
    "GH200": 989,
    "H100 PCIe": 756,
    "H100": 989,
    "H800": 989,
    "A100": 312,
    "A800": 312,
    "L40S": 362,
    "L4": 121,
}


def peak_flops(tflops: float = 0.0) -> float | None:
    """FLOP/s of one GPU at dense bf16: `tflops` * 1e12, or by the GPU's name; None where that says nothing."""
    if tflops:
        return tflops * 1e12
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    return next((peak * 1e12 for key, peak in _PEAK_TFLOPS.items() if key in name), None)


def language_flops(text: Any, lengths: Sequence[float], reads: Sequence[float], num_labels: float) -> float:
    """Forward and backward of the language model, on sequences of `lengths` tokens of which `num_labels` are predicted,
    all among the last `reads` of each; `text` is its Hugging Face configuration."""
    heads, kv_heads, size, hidden = text.num_attention_heads, text.num_key_value_heads, text.head_dim, text.hidden_size
    keys = 2 * hidden * size * kv_heads  # and values: weights of a layer
    others = 2 * hidden * size * heads + 3 * hidden * text.intermediate_size
    window = getattr(text, "sliding_window", None)
    unread = [length - read for length, read in zip(lengths, reads, strict=True)]

    def layer(positions: Sequence[float]) -> float:
        attended = sum(_num_attended(count, window) for count in positions)
        return 2 * others * sum(positions) + 4 * heads * size * attended

    layers = text.num_hidden_layers * (layer(lengths) + 2 * keys * sum(lengths)) - layer(unread)
    return 3.0 * (layers + 2 * hidden * text.vocab_size * num_labels)


def _num_attended(length: float, window: int | None) -> float:
    """Pairs of a position and one that it sees."""
    if window is None or length <= window:
        return length * (length + 1) / 2
    return window * (window + 1) / 2 + (length - window) * window

"""The weight table of low-rank adapters: Megatron's beside a joined projection, PEFT's beside each of its parts.

In Megatron, q, k and v (gate and up) are one projection and so are their adapters: `lora_b` [rows, rank] has the
projection's own order of rows, `lora_a` is A of q, k and v one below the other.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch

from models.family import Family
from models.weight_table import JOINED_GATE, Weight, join_rows, language_projections


def adapter_table(family: Family, config: Any) -> list[tuple[Weight, Weight]]:
    """(A, B) of every projection; their `hf` are the names of the weights that they adapt."""
    return [_pair(weight) for weight in language_projections(family, config)]


def _pair(weight: Weight) -> tuple[Weight, Weight]:
    stem, count = weight.megatron.removesuffix("weight"), len(weight.hf)

    def split_a(tensor: torch.Tensor, config: Any) -> tuple[torch.Tensor, ...]:
        return tensor.chunk(count)

    if is_joined_gate(weight):
        return (
            dataclasses.replace(weight, megatron=f"{stem}lora_a", join=join_rows),
            dataclasses.replace(weight, megatron=f"{stem}lora_b", join=join_rows, split=_split_b),
        )
    return (
        dataclasses.replace(weight, megatron=f"{stem}lora_a", join=join_rows, split=split_a),
        dataclasses.replace(weight, megatron=f"{stem}lora_b"),
    )


def is_joined_gate(weight: Weight) -> bool:
    """Whether Hugging Face has a gate and its up projection in one tensor, too."""
    return JOINED_GATE in weight.hf[0]


def _split_b(tensor: torch.Tensor, config: Any) -> Sequence[torch.Tensor]:
    """B of the gate in the first columns, B of the up projection in the others; A has the rows of both."""
    return (torch.block_diag(*tensor.chunk(2)),)

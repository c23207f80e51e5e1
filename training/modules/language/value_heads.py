"""Value heads: what a critic has in place of the probabilities of tokens: each gives log(V / (1 - V)) of a state."""

import zlib
from collections.abc import Sequence
from typing import Any

import torch
from megatron.core import parallel_state, tensor_parallel
from megatron.core.transformer.module import MegatronModule
from megatron.core.transformer.transformer_config import TransformerConfig
from megatron.core.transformer.utils import make_sharded_tensors_for_checkpoint
from torch.nn import functional

from training.modules.language.lora import draw

CUT = ("in_weight", "in_bias", "mid_weight")
"""Parameters of which every tensor-parallel rank holds a part."""


class ValueHeads(MegatronModule):
    """Named heads that read the same hidden states."""

    def __init__(self, config: TransformerConfig, names: Sequence[str]) -> None:
        super().__init__(config)
        for name in names:
            self.add_module(name, ValueHead(config))

    def initialize(self, seed: int) -> None:
        """Every layout draws the same values."""
        for name, head in self.named_children():
            head.reset(torch.Generator().manual_seed(zlib.crc32(f"{seed}.{name}".encode())))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Whole on every tensor-parallel rank: [n, h] -> [n, heads] in fp32"""
        return torch.cat([head(hidden) for head in self.children()], dim=-1).float()


class ValueHead(torch.nn.Module):
    """A perceptron of two hidden layers, as wide as the model (webrl/models/critic.py), the first cut by output and the
    second by input."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        width, size = config.hidden_size, config.tensor_model_parallel_size
        part = width // size
        assert part * size == width, f"TP={size} does not divide the width {width}"
        self.in_weight = torch.nn.Parameter(torch.zeros(part, width))
        self.in_bias = torch.nn.Parameter(torch.zeros(part))
        self.mid_weight = torch.nn.Parameter(torch.zeros(width, part))
        self.mid_bias = torch.nn.Parameter(torch.zeros(width))
        self.out_weight = torch.nn.Parameter(torch.zeros(1, width))
        self.out_bias = torch.nn.Parameter(torch.zeros(1))

    def reset(self, generator: torch.Generator) -> None:
        """As `torch.nn.Linear` draws weights, with biases of 0: V begins near 1/2, as it would not with WebRL's
        N(0, 0.2)."""
        rank, width = parallel_state.get_tensor_model_parallel_rank(), self.out_weight.size(1)
        size = width // len(self.in_weight)
        self.in_weight.data.copy_(draw(width, width, generator).chunk(size)[rank])
        self.mid_weight.data.copy_(draw(width, width, generator).chunk(size, dim=1)[rank])
        self.out_weight.data.copy_(draw(1, width, generator))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[n, h] -> [n, 1]"""
        hidden = tensor_parallel.copy_to_tensor_model_parallel_region(hidden)
        inner = functional.linear(hidden, self.in_weight, self.in_bias).relu()
        inner = tensor_parallel.reduce_from_tensor_model_parallel_region(functional.linear(inner, self.mid_weight))
        return functional.linear((inner + self.mid_bias).relu(), self.out_weight, self.out_bias)

    def sharded_state_dict(
        self, prefix: str = "", sharded_offsets: tuple[Any, ...] = (), metadata: Any = None
    ) -> dict[str, Any]:
        state, cut = self.state_dict(prefix="", keep_vars=True), {"in_weight": 0, "in_bias": 0, "mid_weight": 1}
        group = parallel_state.get_tensor_model_parallel_group()
        return make_sharded_tensors_for_checkpoint(
            state, prefix, cut, sharded_offsets, tp_group=group, dp_cp_group=metadata["dp_cp_group"]
        )

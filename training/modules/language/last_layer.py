"""The last layer is computed where something reads it: from the first position with a label to the end of the rows.

Behind it a position is read by its own label alone. Keys and values are still those of all positions; queries, output
projection and feed-forward are those of the end of the rows. Loss and gradients are the same. A reply is short and
stands at the end of its page, so that this saves most of one layer.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from megatron.core.fusions.fused_bias_dropout import get_bias_dropout_add
from megatron.core.transformer.attention import SelfAttention
from megatron.core.transformer.spec_utils import ModuleSpec
from megatron.core.transformer.transformer_config import TransformerConfig

from training.modules.kernels import Kernels


def may_be_cut(config: TransformerConfig, kernels: Kernels) -> bool:
    """Every rank holds whole rows, no layer is computed a second time, and attention takes fewer queries than keys."""
    whole_rows = config.context_parallel_size == 1 and not config.sequence_parallel
    return whole_rows and config.recompute_granularity != "full" and kernels.attention != "te"


def cut(layer: ModuleSpec) -> ModuleSpec:
    """A copy of the specification whose layer gives the end of the rows alone, where its attention is told so."""
    attention = dataclasses.replace(layer.submodules.self_attention, module=EndAttention)
    submodules = dataclasses.replace(layer.submodules, self_attention=attention, self_attn_bda=_add_to_end)
    return dataclasses.replace(layer, submodules=submodules)


class EndAttention(SelfAttention):
    """Attention from the last `num_read` positions of the rows to all that each of them sees; None: from all."""

    num_read: int | None = None

    def forward(
        self, hidden_states: torch.Tensor, *args: Any, rotary_pos_emb: torch.Tensor | None = None, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """[s, b, h] -> [num_read, b, h], and the projection's bias."""
        angles = None if rotary_pos_emb is None else (self._end(rotary_pos_emb), rotary_pos_emb)
        return super().forward(hidden_states, *args, rotary_pos_emb=angles, **kwargs)

    def get_query_key_value_tensors(self, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, ...]:
        query, *others = super().get_query_key_value_tensors(*args, **kwargs)
        return self._end(query), *others

    def _end(self, rows: torch.Tensor) -> torch.Tensor:
        return rows if self.num_read is None else rows[-self.num_read :]


def _add_to_end(training: bool, fused: bool) -> Callable[..., torch.Tensor]:
    """Megatron's addition of what attention gives to the residual, of which the same positions are taken."""
    add = get_bias_dropout_add(training, fused)

    def add_to_end(
        attended: tuple[torch.Tensor, torch.Tensor | None], residual: torch.Tensor, dropout: float
    ) -> torch.Tensor:
        return add(attended, residual[-attended[0].size(0) :], dropout)

    return add_to_end

"""The layers of a language model: TransformerEngine's where it is installed, else the two that Megatron's local
specification lacks, an RMSNorm that knows sequence parallelism and an attention on PyTorch's fused kernels.
"""

import dataclasses
import functools
from typing import Any

import torch
from megatron.core import parallel_state
from megatron.core.models.gpt.gpt_layer_specs import (
    get_gpt_layer_local_spec,
    get_gpt_layer_with_transformer_engine_spec,
)
from megatron.core.packed_seq_params import PackedSeqParams
from megatron.core.transformer.module import MegatronModule
from megatron.core.transformer.transformer_block import TransformerBlockSubmodules, get_num_layers_to_build
from megatron.core.transformer.transformer_config import TransformerConfig
from torch.nn import functional

from training.models.collectives import AllGather
from training.models.context_parallel import blocks, gathered_order
from training.models.lora import add_adapters
from training.models.trainable import Lora

try:
    from megatron.core.extensions.transformer_engine import TEDotProductAttention, TENorm

    HAVE_TE = torch.cuda.is_available()
except ImportError:
    HAVE_TE = False


def layer_spec(config: TransformerConfig, vp_stage: int | None, lora: Lora | None) -> TransformerBlockSubmodules:
    """The pre-norm decoder layers of this chunk, with RMSNorm and causal self-attention, and adapters if asked for."""
    num_layers = get_num_layers_to_build(config, vp_stage)
    norm = TENorm if HAVE_TE else RMSNorm
    if HAVE_TE and lora is None:
        return TransformerBlockSubmodules([get_gpt_layer_with_transformer_engine_spec()] * num_layers, norm)
    layer = get_gpt_layer_local_spec(normalization="RMSNorm")
    layer.submodules.input_layernorm = layer.submodules.pre_mlp_layernorm = norm
    layer.submodules.self_attention.submodules.core_attention = TEDotProductAttention if HAVE_TE else CausalAttention
    if lora is not None:
        add_adapters(layer.submodules, lora)
    return TransformerBlockSubmodules([layer] * num_layers, norm)


@dataclasses.dataclass
class PackedSamples(PackedSeqParams):
    """Samples laid one after the other in a row, in the form that Megatron's rotary embedding and TE read."""

    lengths: tuple[int, ...] = ()

    @staticmethod
    def of(lengths: tuple[int, ...], device: torch.device) -> "PackedSamples":
        """For samples of `lengths` tokens each."""
        ends = torch.tensor([0, *lengths], dtype=torch.int32).cumsum(0, dtype=torch.int32).to(device)
        longest = max(lengths)
        return PackedSamples("thd", ends, ends, max_seqlen_q=longest, max_seqlen_kv=longest, lengths=lengths)


class RMSNorm(torch.nn.RMSNorm):
    """RMSNorm whose gradient Megatron sums over the ranks that share a sequence."""

    def __init__(self, config: TransformerConfig, hidden_size: int, eps: float = 1e-5, **_: Any) -> None:
        super().__init__(hidden_size, eps=eps, device=torch.cuda.current_device(), dtype=config.params_dtype)
        self.weight.sequence_parallel = config.sequence_parallel


class CausalAttention(MegatronModule):
    """softmax(QK^T)V over the past of a token's own sample, at most `config.window_size` of it.

    Padding on the right needs no mask. Context-parallel ranks gather keys and values, and attend from their queries.
    """

    def __init__(self, config: TransformerConfig, softmax_scale: float | None = None, **_: Any) -> None:
        super().__init__(config=config)
        self.scale = softmax_scale
        self.window = config.window_size[0] + 1 if config.window_size else None
        self.group = parallel_state.get_context_parallel_group()

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: None,
        packed_seq_params: PackedSamples | None = None,
        **_: Any,
    ) -> torch.Tensor:
        """query [s, b, heads, d], key and value [s, b, kv_heads, d] -> [s, b, heads * d]; packed ones have no b."""
        size = self.group.size()
        if packed_seq_params is not None:
            lengths = packed_seq_params.lengths
            query, key, value = (tensor.unsqueeze(1) for tensor in (query, key, value))
        else:
            lengths = (query.size(0) * size,)
        if size > 1:
            both = AllGather.apply(torch.stack([key, value], dim=1), self.group)
            key, value = both.index_select(0, gathered_order(lengths, size, both.device)).unbind(1)
        query, key, value = (tensor.permute(1, 2, 0, 3) for tensor in (query, key, value))  # [b, heads, s, d]
        parts = []
        for block in blocks(lengths, self.group.rank(), size):
            end = block.position + block.length
            first = max(0, block.position + 1 - self.window) if self.window else 0
            seen = slice(block.keys + first, block.keys + end)
            part = query[:, :, block.start : block.start + block.length]
            parts.append(self._attend(part, key[:, :, seen], value[:, :, seen]))
        output = torch.cat(parts, dim=2) if len(parts) > 1 else parts[0]
        output = output.permute(2, 0, 1, 3).flatten(2)
        return output if packed_seq_params is None else output.squeeze(1)

    def _attend(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """The queries are at the last of the keys' positions."""
        length, num_keys = query.size(2), key.size(2)
        plain = num_keys == length and (self.window is None or length <= self.window)
        mask = None if plain else _band(length, num_keys, self.window or num_keys, query.device)
        return functional.scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=mask,
            is_causal=plain,
            scale=self.scale,
            enable_gqa=query.size(1) != key.size(1),
        )


@functools.lru_cache(maxsize=2)
def _band(length: int, num_keys: int, window: int, device: torch.device) -> torch.Tensor:
    """[length, num_keys] bool: the last `length` of `num_keys` positions, each sees `window` up to its own."""
    positions = torch.arange(num_keys, device=device)
    distance = positions[num_keys - length :, None] - positions[None, :]
    return (distance >= 0) & (distance < window)

"""The layers of a language model: TransformerEngine's where it is installed, else the two that Megatron's local
specification lacks, an RMSNorm that knows sequence parallelism and an attention on PyTorch's fused kernels.
"""

import functools
from typing import Any

import torch
from megatron.core.models.gpt.gpt_layer_specs import (
    get_gpt_layer_local_spec,
    get_gpt_layer_with_transformer_engine_spec,
)
from megatron.core.transformer.module import MegatronModule
from megatron.core.transformer.transformer_block import TransformerBlockSubmodules, get_num_layers_to_build
from megatron.core.transformer.transformer_config import TransformerConfig
from torch.nn import functional

try:
    from megatron.core.extensions.transformer_engine import TENorm

    HAVE_TE = torch.cuda.is_available()
except ImportError:
    HAVE_TE = False


def layer_spec(config: TransformerConfig) -> TransformerBlockSubmodules:
    """The pre-norm decoder layers of this pipeline stage, with RMSNorm and causal self-attention."""
    num_layers = get_num_layers_to_build(config)
    if HAVE_TE:
        return TransformerBlockSubmodules([get_gpt_layer_with_transformer_engine_spec()] * num_layers, TENorm)
    layer = get_gpt_layer_local_spec(normalization="RMSNorm")
    layer.submodules.input_layernorm = layer.submodules.pre_mlp_layernorm = RMSNorm
    layer.submodules.self_attention.submodules.core_attention = CausalAttention
    return TransformerBlockSubmodules([layer] * num_layers, RMSNorm)


class RMSNorm(torch.nn.RMSNorm):
    """RMSNorm whose gradient Megatron sums over the ranks that share a sequence."""

    def __init__(self, config: TransformerConfig, hidden_size: int, eps: float = 1e-5, **_: Any) -> None:
        super().__init__(hidden_size, eps=eps, device=torch.cuda.current_device(), dtype=config.params_dtype)
        self.weight.sequence_parallel = config.sequence_parallel


class CausalAttention(MegatronModule):
    """softmax(QK^T)V over the past, at most `config.window_size` of it; padding on the right needs no mask."""

    def __init__(self, config: TransformerConfig, softmax_scale: float | None = None, **_: Any) -> None:
        super().__init__(config=config)
        self.scale = softmax_scale
        self.window = config.window_size[0] + 1 if config.window_size else None

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: None, **_: Any
    ) -> torch.Tensor:
        """query [s, b, heads, d], key and value [s, b, kv_heads, d] -> [s, b, heads * d]."""
        length = query.size(0)
        band = _band(length, self.window, query.device) if self.window and length > self.window else None
        query, key, value = (tensor.permute(1, 2, 0, 3) for tensor in (query, key, value))
        output = functional.scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=band,
            is_causal=band is None,
            scale=self.scale,
            enable_gqa=query.size(1) != key.size(1),
        )
        return output.permute(2, 0, 1, 3).flatten(2)


@functools.lru_cache(maxsize=1)
def _band(length: int, window: int, device: torch.device) -> torch.Tensor:
    """[length, length] bool: position i sees positions i - window + 1 .. i."""
    positions = torch.arange(length, device=device)
    distance = positions[:, None] - positions[None, :]
    return (distance >= 0) & (distance < window)

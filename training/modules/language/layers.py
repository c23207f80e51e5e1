"""The layers of a language model, of the kernels that were chosen (`kernels.py`): TransformerEngine's, or Megatron's
local ones with what those lack, an RMSNorm that knows sequence parallelism and an attention on fused kernels.
"""

from typing import Any

import torch
from megatron.core.models.gpt.gpt_layer_specs import (
    get_gpt_layer_local_spec,
    get_gpt_layer_with_transformer_engine_spec,
)
from megatron.core.transformer.spec_utils import ModuleSpec
from megatron.core.transformer.transformer_block import TransformerBlockSubmodules, get_num_layers_to_build
from megatron.core.transformer.transformer_config import TransformerConfig

from data.adapter_record import Lora
from training.modules.kernels import Kernels
from training.modules.language import last_layer
from training.modules.language.attention import CausalAttention
from training.modules.language.lora import add_adapters
from training.modules.marks import mark


def layer_spec(
    config: TransformerConfig, vp_stage: int | None, lora: Lora | None, kernels: Kernels, cuts_last: bool
) -> TransformerBlockSubmodules:
    """The pre-norm decoder layers of this chunk, with RMSNorm and causal self-attention, and adapters if asked for;
    `cuts_last`: the last of them may be asked for the end of its rows alone."""
    norm = _norm(kernels)
    if kernels.layers == "te":
        layer = get_gpt_layer_with_transformer_engine_spec(
            qk_layernorm=config.qk_layernorm
        )  # its norms are parts of the projections behind them
    else:
        layer = get_gpt_layer_local_spec(normalization="RMSNorm", qk_layernorm=config.qk_layernorm)
        layer.submodules.input_layernorm = layer.submodules.pre_mlp_layernorm = norm
        if config.qk_layernorm:
            attention = layer.submodules.self_attention.submodules
            attention.q_layernorm = attention.k_layernorm = norm
    layer.submodules.self_attention.submodules.core_attention = _attention(kernels)
    if lora is not None:
        add_adapters(layer.submodules, lora)
    layers = [layer] * get_num_layers_to_build(config, vp_stage)
    if cuts_last:
        layers[-1] = last_layer.cut(layer)
    return TransformerBlockSubmodules(layers, norm)


def _norm(kernels: Kernels) -> type:
    if kernels.norm == "te":
        from megatron.core.extensions.transformer_engine import TENorm

        return TENorm
    return ApexRMSNorm if kernels.norm == "apex" else RMSNorm


def _attention(kernels: Kernels) -> type | ModuleSpec:
    if kernels.attention == "te":
        from megatron.core.extensions.transformer_engine import TEDotProductAttention

        return TEDotProductAttention
    return ModuleSpec(CausalAttention, params={"varlen": kernels.attention == "varlen"})


class RMSNorm(torch.nn.RMSNorm):
    """RMSNorm whose gradient Megatron sums over the ranks that share a sequence."""

    def __init__(self, config: TransformerConfig, hidden_size: int, eps: float = 1e-5, **_: Any) -> None:
        super().__init__(hidden_size, eps=eps, device=torch.cuda.current_device(), dtype=config.params_dtype)
        mark(self.weight, sequence_parallel=config.sequence_parallel)


class ApexRMSNorm(RMSNorm):
    """The same on apex's fused kernel."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        from apex.normalization.fused_layer_norm import fused_rms_norm_affine

        return fused_rms_norm_affine(x, self.weight, self.normalized_shape, self.eps)

"""The language model's form for megatron-core, of a Hugging Face `text_config`."""

import math
from typing import TYPE_CHECKING, Any

from common.errors import UserError
from models.language import mrope_section, sliding_window
from models.registry import family_of

if TYPE_CHECKING:
    from megatron.core.transformer.transformer_config import TransformerConfig

    from training.layout import Layout
    from training.modules.kernels import Kernels


def check_layout(config: Any, layout: "Layout") -> None:
    """`UserError` when heads, groups or layers cannot be divided as `layout` asks."""
    text = config.get_text_config()
    sizes = {
        "attention heads": text.num_attention_heads,
        "key/value heads": text.num_key_value_heads,
        "feed-forward units": text.intermediate_size,
    }
    tp, common = layout.tensor_parallel, math.gcd(*sizes.values())
    for name, count in sizes.items():
        if count % tp:
            fitting = ", ".join(f"TP={number}" for number in range(1, tp) if common % number == 0)
            raise UserError(f"TP={tp} does not divide the model's {count} {name}; {fitting} would")
    _check_stages(text.num_hidden_layers, layout)
    needed = family_of(config).num_deepstack(config)
    first = layout.layers_of_stage(text.num_hidden_layers)[0] // layout.virtual_pipeline
    if first < needed:
        raise UserError(
            f"the first {'chunk' if layout.virtual_pipeline > 1 else 'stage'} of the pipeline has {first} layers, but "
            f"the first {needed} take features of the vision tower; give FIRST_STAGE_LAYERS, or a smaller PP or VPP"
        )


def _check_stages(num_layers: int, layout: "Layout") -> None:
    first, pp, vpp = layout.first_stage_layers, layout.pipeline_parallel, layout.virtual_pipeline
    if vpp > 1 and pp == 1:
        raise UserError(f"VPP={vpp} needs PP > 1")
    if not first:
        if num_layers % (pp * vpp):
            stages = f"PP={pp}" + (f" x VPP={vpp}" if vpp > 1 else "")
            raise UserError(f"{stages} does not divide the model's {num_layers} layers; see --first_stage_layers")
        return
    if pp == 1:
        raise UserError(f"FIRST_STAGE_LAYERS={first} needs PP > 1")
    rest = num_layers - first
    if rest <= 0 or rest % (pp - 1) or first % vpp or rest // (pp - 1) % vpp:
        raise UserError(
            f"FIRST_STAGE_LAYERS={first} leaves {rest} of {num_layers} layers, which {pp - 1} stages"
            f"{f' of {vpp} chunks' if vpp > 1 else ''} cannot share equally"
        )


def transformer_config(config: Any, layout: "Layout", kernels: "Kernels") -> "TransformerConfig":
    """The language model's dimensions, `layout` and `kernels` for megatron-core; all weights are loaded, none drawn."""
    import torch
    from megatron.core.transformer.transformer_config import TransformerConfig
    from torch.nn import functional

    text = config.get_text_config()
    window = sliding_window(text)
    dtype = torch.bfloat16 if layout.bf16 else torch.float32
    pp = layout.pipeline_parallel
    return TransformerConfig(
        num_layers=text.num_hidden_layers,
        hidden_size=text.hidden_size,
        ffn_hidden_size=text.intermediate_size,
        num_attention_heads=text.num_attention_heads,
        num_query_groups=text.num_key_value_heads,
        kv_channels=text.head_dim,
        window_size=(window - 1, 0) if window else None,
        qk_layernorm=family_of(config).normalizes_heads,
        mrope_section=mrope_section(text),
        rotary_interleaved=family_of(config).rotates_neighbors,
        normalization="RMSNorm",
        layernorm_epsilon=text.rms_norm_eps,
        gated_linear_unit=True,
        activation_func=functional.silu,
        add_bias_linear=False,
        add_qkv_bias=family_of(config).has_qkv_bias,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        tensor_model_parallel_size=layout.tensor_parallel,
        pipeline_model_parallel_size=pp,
        virtual_pipeline_model_parallel_size=layout.virtual_pipeline if layout.virtual_pipeline > 1 else None,
        num_layers_in_first_pipeline_stage=layout.first_stage_layers or None,
        context_parallel_size=layout.context_parallel,
        cp_comm_type="a2a" if window else "p2p",  # TransformerEngine's ring knows no sliding window
        sequence_parallel=layout.sequence_parallel,
        variable_seq_lengths=pp > 1,
        moe_token_dispatcher_type="alltoall",  # asked of variable lengths even where there are no experts
        overlap_p2p_comm=layout.virtual_pipeline > 1,
        batch_p2p_comm=layout.virtual_pipeline == 1,
        pipeline_dtype=dtype,
        params_dtype=dtype,
        bf16=layout.bf16,
        perform_initialization=False,
        gradient_accumulation_fusion=kernels.gradient_accumulation_fusion,
        masked_softmax_fusion=False,
        persist_layer_norm=False,  # apex's, for LayerNorm only
        apply_rope_fusion=kernels.rope_fusion,
        bias_activation_fusion=kernels.compiled,
        bias_dropout_fusion=True,
        **_RECOMPUTE[layout.recompute],
    )


_RECOMPUTE: dict[str, dict[str, Any]] = {
    "none": {},
    # The feed-forward layers hold most of a layer's activations; attention keeps none worth the name when fused.
    "selective": {"recompute_granularity": "selective", "recompute_modules": ["mlp"]},
    "full": {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1},
}

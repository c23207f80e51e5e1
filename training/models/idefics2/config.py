"""idefics2's configuration: read from a Hugging Face folder, checked, and translated for Megatron."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from data.errors import UserError
from data.files import read_json

if TYPE_CHECKING:
    from megatron.core.transformer.transformer_config import TransformerConfig
    from transformers import Idefics2Config

    from training.layout import Layout


def read_config(folder: Path) -> "Idefics2Config":
    """The Hugging Face configuration in `folder`.

    Raises:
        UserError: there is none, it is not an idefics2, or it asks for what this model does not compute.
    """
    path = Path(folder) / "config.json"
    fields = read_json(path)
    if fields.get("model_type") != "idefics2":
        raise UserError(f"{path}: model_type is {fields.get('model_type')!r}, this is the idefics2 trainer")
    from transformers import Idefics2Config

    config = Idefics2Config.from_dict(fields)
    text = config.text_config
    if text.hidden_act != "silu" or text.rope_parameters.get("rope_type", "default") != "default":
        unsupported = json.dumps({"hidden_act": text.hidden_act, "rope_parameters": text.rope_parameters})
        raise UserError(f"{path}: only silu and default rope are supported, not {unsupported}")
    return config


def check_layout(config: "Idefics2Config", layout: "Layout") -> None:
    """`UserError` when heads, groups or layers cannot be divided as `layout` asks."""
    text = config.text_config
    for name, count in (
        ("attention heads", text.num_attention_heads),
        ("key/value heads", text.num_key_value_heads),
        ("feed-forward units", text.intermediate_size),
    ):
        if count % layout.tensor_parallel:
            raise UserError(f"TP={layout.tensor_parallel} does not divide the model's {count} {name}")
    if text.num_hidden_layers % layout.pipeline_parallel:
        raise UserError(f"PP={layout.pipeline_parallel} does not divide the model's {text.num_hidden_layers} layers")


def tied_embeddings(config: "Idefics2Config") -> bool:
    """Whether the output layer is the word embedding."""
    return bool(config.tie_word_embeddings)


def transformer_config(config: "Idefics2Config", layout: "Layout") -> "TransformerConfig":
    """The language model's dimensions and `layout` for megatron-core; no weight is initialised, all are loaded."""
    import torch
    from megatron.core.transformer.transformer_config import TransformerConfig
    from torch.nn import functional

    text = config.text_config
    dtype = torch.bfloat16 if layout.bf16 else torch.float32
    recompute = {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}
    return TransformerConfig(
        num_layers=text.num_hidden_layers,
        hidden_size=text.hidden_size,
        ffn_hidden_size=text.intermediate_size,
        num_attention_heads=text.num_attention_heads,
        num_query_groups=text.num_key_value_heads,
        kv_channels=text.head_dim,
        window_size=(text.sliding_window - 1, 0) if text.sliding_window else None,
        normalization="RMSNorm",
        layernorm_epsilon=text.rms_norm_eps,
        gated_linear_unit=True,
        activation_func=functional.silu,
        add_bias_linear=False,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        tensor_model_parallel_size=layout.tensor_parallel,
        pipeline_model_parallel_size=layout.pipeline_parallel,
        sequence_parallel=layout.sequence_parallel,
        variable_seq_lengths=layout.pipeline_parallel > 1,
        moe_token_dispatcher_type="alltoall",  # asked of variable lengths even where there are no experts
        pipeline_dtype=dtype,
        params_dtype=dtype,
        bf16=layout.bf16,
        perform_initialization=False,
        gradient_accumulation_fusion=False,
        masked_softmax_fusion=False,
        persist_layer_norm=False,
        bias_activation_fusion=torch.cuda.is_available(),  # a gain only where it is compiled
        bias_dropout_fusion=True,
        **(recompute if layout.recompute else {}),
    )

"""idefics2 in OpenWebVoyager's Megatron checkpoints: which of their tensors becomes which, and how ranks cut it.

Their model is Pai-Megatron-Patch's of April 2024 (legacy `ParallelTransformer`; vision tower and perceiver in Megatron,
too), so everything large is cut by tensor parallelism.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from common.errors import UserError
from models.legacy_layout import Cut, LegacyWeight
from models.weight_table import join_qkv, join_rows, split_qkv, split_rows

VOCABULARY = ("model.text_model.embed_tokens.weight", "lm_head.weight")
"""The tensors with extra rows."""


def legacy_table(config: Any) -> list[LegacyWeight]:
    """Every weight of the model, once."""
    return [*_language(config), *_vision(config), *_perceiver(config)]


def check_tensor_parallel(config: Any, num_ranks: int) -> None:
    """`UserError` when heads cannot be divided: a rank has whole ones, of the language model whole key/value groups."""
    for what, heads in (
        ("key/value heads", config.text_config.num_key_value_heads),
        ("vision heads", config.vision_config.num_attention_heads),
        ("perceiver heads", config.perceiver_config.resampler_n_heads),
    ):
        if heads % num_ranks:
            raise UserError(f"TP={num_ranks} does not divide the model's {heads} {what}")


def settle(
    config: Any, table: Sequence[LegacyWeight], whole: Callable[[LegacyWeight], torch.Tensor], folder: Path
) -> None:
    """Give `config` the perceiver's key/value heads: its own number if the stored ones are copies of so many; else all
    of them, which were trained apart."""
    original = config.perceiver_config.num_key_value_heads
    for weight in table:
        if weight.megatron.endswith("self_attention.key_value.weight"):
            tensor = whole(weight)
            stored = _key_value_heads(tensor, config)
            heads = tensor.unflatten(0, (stored, -1))
            if stored % original:
                raise UserError(f"{folder}: {stored} perceiver heads, its config.json says {original}")
            if not heads[:: stored // original].repeat_interleave(stored // original, dim=0).equal(heads):
                config.perceiver_config.num_key_value_heads = stored
                return


def _key_value_heads(tensor: torch.Tensor, config: Any) -> int:
    """How many a perceiver layer's whole key_value tensor [heads * 2 * head size, width] holds."""
    return tensor.size(0) // (2 * config.perceiver_config.resampler_head_dim)


def _language(config: Any) -> Iterator[LegacyWeight]:
    text, encoder = "model.text_model.", "language_model.encoder."
    embedding = "language_model.embedding.word_embeddings.weight"
    yield LegacyWeight(embedding, VOCABULARY[:1], "rows", also=("word_embeddings_for_head.weight",), duplicated=True)
    yield LegacyWeight(
        "language_model.output_layer.weight", VOCABULARY[1:], "rows", also=("lm_head.weight",), duplicated=True
    )
    for layer in range(config.text_config.num_hidden_layers):
        here, there = f"{encoder}layers.{layer}.", f"{text}layers.{layer}."
        qkv = tuple(f"{there}self_attn.{x}_proj.weight" for x in "qkv")
        gate_up = tuple(f"{there}mlp.{x}_proj.weight" for x in ("gate", "up"))
        for name, trained in (("input_layernorm", "input_norm"), ("post_attention_layernorm", "post_attention_norm")):
            yield _renamed(f"{here}{name}.weight", f"{here}{trained}.weight", f"{there}{name}.weight")
        yield LegacyWeight(f"{here}self_attention.query_key_value.weight", qkv, "rows", join_qkv, split_qkv)
        yield LegacyWeight(f"{here}self_attention.dense.weight", (f"{there}self_attn.o_proj.weight",), "columns")
        yield LegacyWeight(f"{here}mlp.dense_h_to_4h.weight", gate_up, "gated", join_rows, split_rows)
        yield LegacyWeight(f"{here}mlp.dense_4h_to_h.weight", (f"{there}mlp.down_proj.weight",), "columns")
    yield _renamed(f"{encoder}final_layernorm.weight", f"{encoder}final_norm.weight", f"{text}norm.weight")


def _renamed(megatron: str, trained: str, hf: str) -> LegacyWeight:
    return LegacyWeight(megatron, (hf,), also=(trained,))


def _vision(config: Any) -> Iterator[LegacyWeight]:
    here, there = "language_model.vision_model.", "model.vision_model."
    for name, hf in (("conv1", "embeddings.patch_embedding"), ("ln_post", "post_layernorm")):
        yield from (LegacyWeight(f"{here}{name}.{kind}", (f"{there}{hf}.{kind}",)) for kind in ("weight", "bias"))
    yield LegacyWeight(f"{here}position_embeddings.weight", (f"{there}embeddings.position_embedding.weight",))
    for layer in range(config.vision_config.num_hidden_layers):
        yield from _vision_layer(f"{here}transformer.layers.{layer}.", f"{there}encoder.layers.{layer}.")


def _vision_layer(here: str, there: str) -> Iterator[LegacyWeight]:
    attention, mlp = f"{here}self_attention.", f"{here}mlp."
    for kind in ("weight", "bias"):
        qkv = tuple(f"{there}self_attn.{x}_proj.{kind}" for x in "qkv")
        across: Cut = "columns" if kind == "weight" else "copy"
        yield LegacyWeight(f"{attention}linear_qkv.layer_norm_{kind}", (f"{there}layer_norm1.{kind}",))
        yield LegacyWeight(f"{attention}linear_qkv.{kind}", qkv, "rows", _join_vision_qkv, _split_vision_qkv)
        yield LegacyWeight(f"{attention}linear_proj.{kind}", (f"{there}self_attn.out_proj.{kind}",), across)
        yield LegacyWeight(f"{mlp}linear_fc1.layer_norm_{kind}", (f"{there}layer_norm2.{kind}",))
        yield LegacyWeight(f"{mlp}linear_fc1.{kind}", (f"{there}mlp.fc1.{kind}",), "rows")
        yield LegacyWeight(f"{mlp}linear_fc2.{kind}", (f"{there}mlp.fc2.{kind}",), across)


def _perceiver(config: Any) -> Iterator[LegacyWeight]:
    here, there = "language_model.perceiver.", "model.connector.perceiver_resampler."
    projection = "model.connector.modality_projection."
    yield from _gated_mlp(f"{here}modality_projection.", projection)
    yield LegacyWeight(f"{here}latents", (f"{there}latents",))
    yield LegacyWeight(f"{here}final_layernorm.weight", (f"{there}norm.weight",), also=(f"{here}final_norm.weight",))
    for layer in range(config.perceiver_config.resampler_depth):
        yield from _perceiver_layer(f"{here}layers.{layer}.", f"{there}layers.{layer}.")


def _perceiver_layer(here: str, there: str) -> Iterator[LegacyWeight]:
    attention, hf_attention = f"{here}self_attention.", f"{there}self_attn."
    for name in ("input_latents_norm", "input_context_norm"):
        yield LegacyWeight(f"{here}{name}.weight", (f"{there}{name}.weight",))
    norm = "post_attention_layernorm.weight"
    yield _renamed(f"{here}{norm}", f"{here}post_attention_norm.weight", f"{there}{norm}")
    yield LegacyWeight(f"{attention}query.weight", (f"{hf_attention}q_proj.weight",), "rows")
    key_value = tuple(f"{hf_attention}{x}_proj.weight" for x in "kv")
    yield LegacyWeight(f"{attention}key_value.weight", key_value, "rows", _join_key_value, _split_key_value)
    yield LegacyWeight(f"{attention}dense.weight", (f"{hf_attention}o_proj.weight",), "columns")
    yield from _gated_mlp(f"{here}mlp.", f"{there}mlp.")


def _gated_mlp(here: str, there: str) -> Iterator[LegacyWeight]:
    gate_up = tuple(f"{there}{x}_proj.weight" for x in ("gate", "up"))
    yield LegacyWeight(f"{here}dense_h_to_4h.weight", gate_up, "gated", join_rows, split_rows)
    yield LegacyWeight(f"{here}dense_4h_to_h.weight", (f"{there}down_proj.weight",), "columns")


def _join_vision_qkv(parts: Sequence[torch.Tensor], config: Any) -> torch.Tensor:
    """Head after head, its query, key and value; of weights [heads * size, width] or biases [heads * size]."""
    heads = config.vision_config.num_attention_heads
    by_head = torch.stack([part.reshape(heads, -1, *part.shape[1:]) for part in parts], dim=1)
    return by_head.reshape(-1, *parts[0].shape[1:])


def _split_vision_qkv(tensor: torch.Tensor, config: Any) -> Sequence[torch.Tensor]:
    by_head = tensor.reshape(config.vision_config.num_attention_heads, 3, -1, *tensor.shape[1:])
    return [part.reshape(-1, *tensor.shape[1:]) for part in by_head.unbind(1)]


def _join_key_value(parts: Sequence[torch.Tensor], config: Any) -> torch.Tensor:
    """Head after head, its key and value; heads are repeated until there is one for every query head."""
    perceiver = config.perceiver_config
    repeats = perceiver.resampler_n_heads // perceiver.num_key_value_heads
    width = parts[0].size(1)
    by_head = torch.stack([part.reshape(perceiver.num_key_value_heads, -1, width) for part in parts], dim=1)
    return by_head.repeat_interleave(repeats, dim=0).reshape(-1, width)


def _split_key_value(tensor: torch.Tensor, config: Any) -> Sequence[torch.Tensor]:
    """Of as many heads as the configuration has; the others are copies of them."""
    repeats = _key_value_heads(tensor, config) // config.perceiver_config.num_key_value_heads
    by_head = tensor.reshape(-1, 2, config.perceiver_config.resampler_head_dim, tensor.size(1))[::repeats]
    return [part.reshape(-1, tensor.size(1)) for part in by_head.unbind(1)]

"""The two-way weight table between Hugging Face's idefics2 and Megatron's: which tensor becomes which, and how.

Megatron keys are those of a `torch_dist` checkpoint: the language model's layers lie on one tensor each, along a first
axis of layers; vision tower and connector keep their Hugging Face names. No Megatron import: converters load it alone.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from transformers import Idefics2Config

VOCAB_DIVISOR = 128
"""Megatron's `make-vocab-size-divisible-by`."""

_TEXT = "model.text_model."
_LANGUAGE = "language_model."


@dataclasses.dataclass(frozen=True)
class Weight:
    """One Megatron tensor and the Hugging Face tensors it is joined from."""

    megatron: str
    hf: tuple[str, ...]
    join: Callable[[Sequence[torch.Tensor], "Idefics2Config"], torch.Tensor]
    split: Callable[[torch.Tensor, "Idefics2Config"], Sequence[torch.Tensor]]
    layer: int | None = None
    """Position on the checkpoint's axis of layers; None for a tensor that has no such axis."""


def padded_vocab_size(vocab_size: int, tensor_parallel: int) -> int:
    """Rows of the embedding that every one of `tensor_parallel` ranks gets equally many of."""
    divisor = VOCAB_DIVISOR * tensor_parallel
    return -(-vocab_size // divisor) * divisor


def _join_one(parts: Sequence[torch.Tensor], config: "Idefics2Config") -> torch.Tensor:
    return parts[0]


def _split_one(tensor: torch.Tensor, config: "Idefics2Config") -> Sequence[torch.Tensor]:
    return (tensor,)


def _pad_vocab(parts: Sequence[torch.Tensor], config: "Idefics2Config") -> torch.Tensor:
    """Zero rows up to the padded size at TP=1; other sizes are cut or grown from it when a rank loads its part."""
    missing = padded_vocab_size(parts[0].size(0), tensor_parallel=1) - parts[0].size(0)
    return torch.nn.functional.pad(parts[0], (0, 0, 0, missing))


def _unpad_vocab(tensor: torch.Tensor, config: "Idefics2Config") -> Sequence[torch.Tensor]:
    return (tensor[: config.text_config.vocab_size],)


def _join_qkv(parts: Sequence[torch.Tensor], config: "Idefics2Config") -> torch.Tensor:
    """One group after the other: the query heads of a key/value head, its key, its value."""
    text = config.text_config
    groups = [part.reshape(text.num_key_value_heads, -1, text.head_dim, text.hidden_size) for part in parts]
    return torch.cat(groups, dim=1).reshape(-1, text.hidden_size)


def _split_qkv(tensor: torch.Tensor, config: "Idefics2Config") -> Sequence[torch.Tensor]:
    text = config.text_config
    heads = text.num_attention_heads // text.num_key_value_heads
    groups = tensor.reshape(text.num_key_value_heads, heads + 2, text.head_dim, text.hidden_size)
    return [part.reshape(-1, text.hidden_size) for part in groups.split([heads, 1, 1], dim=1)]


def _join_gated(parts: Sequence[torch.Tensor], config: "Idefics2Config") -> torch.Tensor:
    return torch.cat(list(parts))


def _split_gated(tensor: torch.Tensor, config: "Idefics2Config") -> Sequence[torch.Tensor]:
    return tensor.chunk(2)


_COPY = (_join_one, _split_one)
_VOCAB = (_pad_vocab, _unpad_vocab)
_QKV = (_join_qkv, _split_qkv)
_GATED = (_join_gated, _split_gated)

_LAYER = (
    ("self_attention.linear_qkv.layer_norm_weight", ("input_layernorm.weight",), _COPY),
    ("self_attention.linear_qkv.weight", tuple(f"self_attn.{x}_proj.weight" for x in "qkv"), _QKV),
    ("self_attention.linear_proj.weight", ("self_attn.o_proj.weight",), _COPY),
    ("mlp.linear_fc1.layer_norm_weight", ("post_attention_layernorm.weight",), _COPY),
    ("mlp.linear_fc1.weight", ("mlp.gate_proj.weight", "mlp.up_proj.weight"), _GATED),
    ("mlp.linear_fc2.weight", ("mlp.down_proj.weight",), _COPY),
)
_VISION = ("embeddings.patch_embedding", "post_layernorm")
_VISION_LAYER = (
    *("layer_norm1", "layer_norm2", "mlp.fc1", "mlp.fc2"),
    *(f"self_attn.{x}" for x in ("q_proj", "k_proj", "v_proj", "out_proj")),
)
_CONNECTOR = (
    *(f"modality_projection.{x}_proj.weight" for x in ("gate", "up", "down")),
    "perceiver_resampler.latents",
    "perceiver_resampler.norm.weight",
)
_RESAMPLER_LAYER = (
    *("input_latents_norm", "input_context_norm", "post_attention_layernorm"),
    *(f"self_attn.{x}_proj" for x in "qkvo"),
    *(f"mlp.{x}_proj" for x in ("gate", "up", "down")),
)


def weight_table(config: "Idefics2Config") -> list[Weight]:
    """Every weight of the model, once."""
    table = list(_language_weights(config))
    table += [Weight(name, (f"model.{name}",), *_COPY) for name in _vision_names(config)]
    return table


def _language_weights(config: "Idefics2Config") -> Iterator[Weight]:
    yield Weight(_LANGUAGE + "embedding.word_embeddings.weight", (_TEXT + "embed_tokens.weight",), *_VOCAB)
    for layer in range(config.text_config.num_hidden_layers):
        for megatron, names, rule in _LAYER:
            hf = tuple(f"{_TEXT}layers.{layer}.{name}" for name in names)
            yield Weight(f"{_LANGUAGE}decoder.layers.{megatron}", hf, *rule, layer=layer)
    yield Weight(_LANGUAGE + "decoder.final_layernorm.weight", (_TEXT + "norm.weight",), *_COPY)
    if not config.tie_word_embeddings:
        yield Weight(_LANGUAGE + "output_layer.weight", ("lm_head.weight",), *_VOCAB)


def _vision_names(config: "Idefics2Config") -> Iterator[str]:
    """Names of the vision tower's and the connector's tensors, below Hugging Face's `model.`."""
    yield "vision_model.embeddings.position_embedding.weight"
    modules = [f"vision_model.{name}" for name in _VISION]
    for layer in range(config.vision_config.num_hidden_layers):
        modules += [f"vision_model.encoder.layers.{layer}.{name}" for name in _VISION_LAYER]
    for module in modules:
        yield from (f"{module}.weight", f"{module}.bias")
    yield from (f"connector.{name}" for name in _CONNECTOR)
    for layer in range(config.perceiver_config.resampler_depth):
        yield from (f"connector.perceiver_resampler.layers.{layer}.{name}.weight" for name in _RESAMPLER_LAYER)

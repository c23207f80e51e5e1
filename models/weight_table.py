"""The two-way weight table between a Hugging Face model and Megatron's: which tensor becomes which, and how.

Megatron keys are those of a `torch_dist` checkpoint: the language model's layers lie on one tensor each, along a first
axis of layers; vision tower and connector keep their Hugging Face names. No Megatron import: converters load it alone.
Every model's `weights.py` makes its `weight_table(config)` of these parts.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import torch

VOCAB_DIVISOR = 128
"""Megatron's `make-vocab-size-divisible-by`."""

LANGUAGE = "language_model."
"""What stands before every key of the language model in a Megatron checkpoint."""
VALUE_HEADS = LANGUAGE + "value_heads."
"""And of what a critic has beside the table's weights; a head's name follows, which is that of its column."""
JOINED_GATE = ".gate_up_proj."
"""In Hugging Face's name of a tensor that holds a gate and its up projection."""
_PROJECTIONS = ("linear_qkv.weight", "linear_proj.weight", "linear_fc1.weight", "linear_fc2.weight")
EMBEDDING, OUTPUT_LAYER = LANGUAGE + "embedding.word_embeddings.weight", LANGUAGE + "output_layer.weight"


@dataclasses.dataclass(frozen=True)
class Weight:
    """One Megatron tensor and the Hugging Face tensors it is joined from, by their names in released checkpoints."""

    megatron: str
    hf: tuple[str, ...]
    join: Callable[[Sequence[torch.Tensor], Any], torch.Tensor]
    split: Callable[[torch.Tensor, Any], Sequence[torch.Tensor]]
    layer: int | None = None
    """Position on the checkpoint's axis of layers; None for a tensor that has no such axis."""


def language_projections(family: Any, config: Any) -> list[Weight]:
    """The weights of a family's table that low-rank adapters in training stand beside."""
    table = family.weight_table(config)
    return [one for one in table if one.megatron.startswith(LANGUAGE) and one.megatron.endswith(_PROJECTIONS)]


def find_spelling(name: str, spellings: Callable[[str], Iterator[str]], available: Collection[str]) -> str | None:
    """The one of `name`'s spellings over the versions of transformers that is `available`; None when none is."""
    return next((spelling for spelling in spellings(name) if spelling in available), None)


def value_heads_in(keys: Iterable[str]) -> tuple[str, ...]:
    """The names of the value heads in a Megatron checkpoint of these keys; a policy has none."""
    own = (key.removeprefix(VALUE_HEADS) for key in keys if key.startswith(VALUE_HEADS))
    return tuple(sorted({key.split(".")[0] for key in own}))


def padded_vocab_size(vocab_size: int, tensor_parallel: int) -> int:
    """Rows of the embedding that every one of `tensor_parallel` ranks gets equally many of."""
    divisor = VOCAB_DIVISOR * tensor_parallel
    return -(-vocab_size // divisor) * divisor


def copy(megatron: str, hf: str) -> Weight:
    """A tensor that is the same on both sides."""
    return Weight(megatron, (hf,), *_COPY)


def language_weights(
    config: Any, decoder: str, lm_head: str, normalizes_heads: bool = False, has_qkv_bias: bool = False
) -> Iterator[Weight]:
    """A Llama's or Mistral's, or one with what `Family` says of the same name, whose Hugging Face names start with
    `decoder`; the text part of `config` has its sizes."""
    rules = (*_LAYER, *(_HEAD_NORMS if normalizes_heads else ()), *(_BIASES if has_qkv_bias else ()))
    yield Weight(EMBEDDING, (decoder + "embed_tokens.weight",), *_VOCAB)
    for layer in range(config.get_text_config().num_hidden_layers):
        for megatron, names, rule in rules:
            hf = tuple(f"{decoder}layers.{layer}.{name}" for name in names)
            yield Weight(f"{LANGUAGE}decoder.layers.{megatron}", hf, *rule, layer=layer)
    yield Weight(LANGUAGE + "decoder.final_layernorm.weight", (decoder + "norm.weight",), *_COPY)
    if not config.tie_word_embeddings:
        yield Weight(OUTPUT_LAYER, (lm_head,), *_VOCAB)


def with_joined_gate(weights: Iterable[Weight]) -> list[Weight]:
    """`weights` of a model that has the gate and its up projection in one tensor, `gate_up_proj`."""
    gate = ".gate_proj."
    return [
        dataclasses.replace(weight, hf=(weight.hf[0].replace(gate, JOINED_GATE),), join=_join_one, split=_split_one)
        if gate in weight.hf[0]
        else weight
        for weight in weights
    ]


def _join_one(parts: Sequence[torch.Tensor], config: Any) -> torch.Tensor:
    return parts[0]


def _split_one(tensor: torch.Tensor, config: Any) -> Sequence[torch.Tensor]:
    return (tensor,)


def _pad_vocab(parts: Sequence[torch.Tensor], config: Any) -> torch.Tensor:
    """Zero rows up to the padded size at TP=1; other sizes are cut or grown from it when a rank loads its part."""
    missing = padded_vocab_size(parts[0].size(0), tensor_parallel=1) - parts[0].size(0)
    return torch.nn.functional.pad(parts[0], (0, 0, 0, missing))


def _unpad_vocab(tensor: torch.Tensor, config: Any) -> Sequence[torch.Tensor]:
    return (tensor[: config.get_text_config().vocab_size],)


def join_qkv(parts: Sequence[torch.Tensor], config: Any) -> torch.Tensor:
    """One group after the other: the query heads of a key/value head, its key, its value. Any width [rows, width]."""
    text = config.get_text_config()
    width = parts[0].size(-1)
    groups = [part.reshape(text.num_key_value_heads, -1, text.head_dim, width) for part in parts]
    return torch.cat(groups, dim=1).reshape(-1, width)


def split_qkv(tensor: torch.Tensor, config: Any) -> Sequence[torch.Tensor]:
    """The inverse of `join_qkv`."""
    text = config.get_text_config()
    heads = text.num_attention_heads // text.num_key_value_heads
    groups = tensor.reshape(text.num_key_value_heads, heads + 2, text.head_dim, tensor.size(-1))
    return [part.reshape(-1, tensor.size(-1)) for part in groups.split([heads, 1, 1], dim=1)]


def _join_biases(parts: Sequence[torch.Tensor], config: Any) -> torch.Tensor:
    return join_qkv([part.unsqueeze(-1) for part in parts], config).squeeze(-1)


def _split_biases(tensor: torch.Tensor, config: Any) -> Sequence[torch.Tensor]:
    return [part.squeeze(-1) for part in split_qkv(tensor.unsqueeze(-1), config)]


def join_rows(parts: Sequence[torch.Tensor], config: Any) -> torch.Tensor:
    """One below the other: a gate and its up projection."""
    return torch.cat(list(parts))


def split_rows(tensor: torch.Tensor, config: Any) -> Sequence[torch.Tensor]:
    """The inverse of `join_rows` for two equal parts."""
    return tensor.chunk(2)


_COPY = (_join_one, _split_one)
_VOCAB = (_pad_vocab, _unpad_vocab)
_QKV = (join_qkv, split_qkv)
_GATED = (join_rows, split_rows)

_LAYER = (
    ("self_attention.linear_qkv.layer_norm_weight", ("input_layernorm.weight",), _COPY),
    ("self_attention.linear_qkv.weight", tuple(f"self_attn.{x}_proj.weight" for x in "qkv"), _QKV),
    ("self_attention.linear_proj.weight", ("self_attn.o_proj.weight",), _COPY),
    ("mlp.linear_fc1.layer_norm_weight", ("post_attention_layernorm.weight",), _COPY),
    ("mlp.linear_fc1.weight", ("mlp.gate_proj.weight", "mlp.up_proj.weight"), _GATED),
    ("mlp.linear_fc2.weight", ("mlp.down_proj.weight",), _COPY),
)

_HEAD_NORMS = tuple((f"self_attention.{x}_layernorm.weight", (f"self_attn.{x}_norm.weight",), _COPY) for x in "qk")
_BIASES = (
    ("self_attention.linear_qkv.bias", tuple(f"self_attn.{x}_proj.bias" for x in "qkv"), (_join_biases, _split_biases)),
)

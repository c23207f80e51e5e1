"""Bytes of activations on a GPU, by arithmetic: what is kept for backward passes, and the most of what is not.

After Korthikanti et al. 2022 (arXiv 2205.05198), with fused attention, norms and SwiGLU; benchmarks/memory_by_rank.py
holds it against the trainer's own code on fake tensors. Numbers are counted per token; a vision tower's is a patch.
"""

from typing import Any

from models.registry import family_of
from models.vision import VisionSide
from models.weight_table import padded_vocab_size
from training.config import Config
from training.layout import Layout

_FP32 = 4
_REPLY = {"answer": 1 / 16, "all_answers": 1 / 4, "all": 1.0}
"""The part of a row that has a label; a reply is some hundred tokens."""


def num_labeled(config: Config) -> int:
    """Tokens of a micro-batch whose logits are computed; an assumption, for the data are not read."""
    return max(1, int(config.batch_size * config.seq_len * _REPLY[config.loss]))


def activation_bytes(config: Config, hf: Any, stage: int, units: int | None = None) -> int:
    """The most that the forward and backward passes of a step hold at once on a GPU of pipeline stage `stage`, which
    encodes so many `units` (images, or tiles) of a micro-batch; None: as many as the fullest one."""
    layout, text = config.layout, hf.get_text_config()
    each = 2 if layout.bf16 else 4
    tokens = config.batch_size * config.seq_len // layout.context_parallel
    whole_layer = _layer(text, layout)
    mlp = 3 * text.intermediate_size // layout.tensor_parallel
    hidden = _hidden(text, layout)
    kept = {"none": whole_layer, "selective": whole_layer - mlp, "full": hidden}[layout.recompute]
    recomputed = {"none": 0, "selective": mlp, "full": whole_layer - hidden}[layout.recompute]
    backward = 2 * hidden + mlp + (2 * text.hidden_size if layout.sequence_parallel else 0)
    layers, in_flight = _in_flight(text, layout, stage)
    language = tokens * each * (layers * kept + in_flight * hidden)
    once = tokens * each * (recomputed + backward)
    if stage == layout.pipeline_parallel - 1:
        once = max(once, tokens * each * 2 * text.hidden_size + _logit_bytes(config, text, each))
    if stage:
        return language + once
    if layout.sequence_parallel:  # this rank's part of the embeddings is a view of them all
        language += in_flight * tokens * each * (text.hidden_size - hidden)
    deepstack = tokens * each * hidden * family_of(hf).num_deepstack(hf)
    language += in_flight * deepstack
    once += (2 if _learns_to_see(config) else 1) * deepstack  # its gradient or zeros, and the sum of two layers'
    kept, encoding = _vision_bytes(config, hf, each, units)
    waiting, at_the_end = _embedding_gradients(config, hf, each)
    return in_flight * kept + max(language + once + waiting, encoding, at_the_end)


def _learns_to_see(config: Config) -> bool:
    """A gradient passes the features of images."""
    return config.trainable.vision or config.trainable.connector


def _hidden(text: Any, layout: Layout) -> int:
    """Numbers of a token between layers."""
    return text.hidden_size // (layout.tensor_parallel if layout.sequence_parallel else 1)


def _layer(text: Any, layout: Layout) -> int:
    """Numbers of a token that a layer's backward pass needs: the residuals and the norms' outputs; queries, keys and
    values before and after rotation with its angles, attention's output; the feed-forward's inputs and their product.
    """
    heads = (3 * text.num_attention_heads + 3 * text.num_key_value_heads) * text.head_dim
    cut = (heads + 3 * text.intermediate_size) // layout.tensor_parallel
    return 4 * _hidden(text, layout) + cut + 4 * text.head_dim


def _in_flight(text: Any, layout: Layout, stage: int) -> tuple[int, int]:
    """(layers, micro-batches of the first chunk) whose activations a stage holds at once, in a long enough step."""
    pp, vpp = layout.pipeline_parallel, layout.virtual_pipeline
    layers, later = layout.layers_of_stage(text.num_hidden_layers)[stage], pp - 1 - stage
    if vpp == 1:
        return layers * (later + 1), later + 1
    warm_up = 2 * later + (vpp - 1) * pp + 1  # passes of chunks before the first backward pass of one
    groups, rest = divmod(warm_up + (vpp - 1) * pp, pp * vpp)  # before the first of the first chunk
    return warm_up * layers // vpp, groups * pp + min(rest, pp)


def _logit_bytes(config: Config, text: Any, each: int) -> int:
    """Each as it is computed and in fp32, where its exponential and then its gradient take its place."""
    return (each + _FP32) * num_labeled(config) * text.vocab_size // config.tp


def _embedding_gradients(config: Config, hf: Any, each: int) -> tuple[int, int]:
    """Of the rows of tokens: (what waits all through the backward pass, what there is at its end). A lookup's gradient
    is as large as they are; where embeddings are tied, the output layer's has waited for it, and their sum is a third.
    """
    if config.trainable.lora or not config.trainable.language:
        return 0, 0
    text = hf.get_text_config()
    whole = each * padded_vocab_size(text.vocab_size, config.tp) // config.tp * text.hidden_size
    tied = hf.tie_word_embeddings and config.pp == 1
    return (whole, 3 * whole) if tied else (0, whole)


def largest_share(config: Config, vision: VisionSide) -> int:
    """Units of a micro-batch that the fullest of the ranks encodes that work on it together."""
    units = config.batch_size * config.image_num * vision.units_per_image
    return -(-units // (config.tp * config.cp))


def _vision_bytes(config: Config, hf: Any, each: int, units: int | None) -> tuple[int, int]:
    """Of the vision side and a micro-batch: (kept, the most at once besides)."""
    vision = family_of(hf).vision_side(hf)
    patches = vision.patches * (largest_share(config, vision) if units is None else units)
    kept, at_once = _tower_bytes(config, vision, each)
    if _learns_to_see(config):  # a connector is not recomputed
        kept += vision.connector_bytes(each)
    else:
        at_once = max(at_once, vision.frozen_connector_bytes(each))
    return patches * kept, patches * at_once


def _tower_bytes(config: Config, vision: VisionSide, each: int) -> tuple[int, int]:
    """Of a patch: (kept, of the layer in the works); of a frozen tower's, what a forward pass holds."""
    if not config.trainable.vision:
        return 0, each * (4 * vision.hidden + 2 * vision.intermediate)
    whole = 8 * vision.hidden + 2 * vision.intermediate
    kept = vision.hidden if config.layout.recompute == "full" else whole
    backward = 2 * (vision.hidden + vision.intermediate)
    return each * vision.layers * kept, each * (whole + backward)

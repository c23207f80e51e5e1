"""A model spread over ranks: its chunks, what finishes their gradients, and their weights in a checkpoint.

A rank holds a list of chunks: one, or with interleaved pipelining (`Layout.virtual_pipeline`) several.
"""

from collections.abc import Callable
from typing import Any

import torch
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
from megatron.core.optimizer import MegatronOptimizer
from megatron.core.transformer.module import Float16Module

from models.family import Family
from training.layout import Layout
from training.modules.language import lora
from training.modules.registry import model_class
from training.modules.trainable import EVERYTHING, Trainable
from training.modules.vision_language import VisionLanguageModel

Chunks = list[DistributedDataParallel]


def build_model(family: Family, hf: Any, layout: Layout, trainable: Trainable = EVERYTHING, seed: int = 0) -> Chunks:
    """This rank's part of the model, with fp32 buffers for its gradients; only adapters and value heads have initial
    weights."""
    ddp_config = DistributedDataParallelConfig(
        grad_reduce_in_fp32=True,
        use_distributed_optimizer=layout.distributed_optimizer,
        overlap_grad_reduce=layout.overlap,
        overlap_param_gather=layout.overlap and layout.distributed_optimizer,
    )
    chunks = []
    for number in range(layout.virtual_pipeline):
        model = model_class(family)(hf, layout, trainable, number if layout.virtual_pipeline > 1 else None)
        model.train()
        lora.initialize(model.language_model.decoder.layers, seed)
        if model.language_model.value_heads is not None:
            model.language_model.value_heads.initialize(seed)
        wrapped = Float16Module(model.config, model) if layout.bf16 else model
        # Megatron overlaps the first chunk's buckets only: the others finish while the first is still at work.
        chunks.append(DistributedDataParallel(model.config, ddp_config, wrapped, disable_bucketing=number > 0))
    return chunks


def unwrap(chunks: Chunks) -> list[VisionLanguageModel]:
    """The models inside their wrappers."""
    inner = [chunk.module for chunk in chunks]
    return [model.module if isinstance(model, Float16Module) else model for model in inner]


def connect(optimizer: MegatronOptimizer, chunks: Chunks) -> None:
    """The hooks by which Megatron's schedules scale losses and reduce gradients."""
    ddp_config = chunks[0].ddp_config

    def one_or_list(functions: list[Any]) -> Any:
        return functions if len(functions) > 1 else functions[0]

    for config in (chunk.config for chunk in chunks):
        config.grad_scale_func = optimizer.scale_loss
        config.finalize_model_grads_func = finalize_model_grads
        if ddp_config.overlap_grad_reduce:
            config.no_sync_func = one_or_list([chunk.no_sync for chunk in chunks])
            if len(chunks) > 1:
                config.grad_sync_func = one_or_list([chunk.start_grad_sync for chunk in chunks])
        if ddp_config.overlap_param_gather and len(chunks) > 1:
            config.param_sync_func = one_or_list([chunk.start_param_sync for chunk in chunks])


def finish_param_sync(chunks: Chunks) -> None:
    """Wait for weights that are still being gathered; call it before they are read other than by a forward pass."""
    for chunk in chunks:
        if chunk.ddp_config.overlap_param_gather:
            chunk.start_param_sync(force_sync=True)


def sharded_weights(
    models: list[VisionLanguageModel], is_wanted: Callable[[str], bool] = lambda key: True
) -> dict[str, Any]:
    """The weights whose key in a checkpoint `is_wanted`, for saving or loading.

    Without TransformerEngine's `_extra_state`, which belongs to fp8 only and which converters cannot know.
    """
    return _by_chunk([_sharded(model, lambda name, key: is_wanted(key)) for model in models])


def trainable_weights(models: list[VisionLanguageModel]) -> dict[str, Any]:
    """What a run's checkpoints hold: every weight, but where adapters learn in the model's place only what learns."""
    if models[0].trainable.lora is None:
        return sharded_weights(models)
    parts = []
    for model in models:
        learns = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
        parts.append(_sharded(model, lambda name, key, learns=learns: name in learns))
    return _by_chunk(parts)


def set_weights(models: list[VisionLanguageModel], weights: dict[str, Any]) -> None:
    """Give the models what `sharded_weights` or `trainable_weights` described, as loaded."""
    for number, model in enumerate(models):
        loaded: dict[str, torch.Tensor] = weights if len(models) == 1 else weights[_chunk(number)]
        unexpected = model.load_state_dict(loaded, strict=False).unexpected_keys
        assert not unexpected, f"weights do not fit the model: {unexpected}"


def _sharded(model: VisionLanguageModel, is_wanted: Callable[[str, str], bool]) -> dict[str, Any]:
    state = model.sharded_state_dict().items()
    return {name: part for name, part in state if not name.endswith("_extra_state") and is_wanted(name, part.key)}


def _by_chunk(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Chunks count their layers from 0 each; in a checkpoint, keys and offsets tell them apart."""
    return parts[0] if len(parts) == 1 else {_chunk(number): part for number, part in enumerate(parts)}


def _chunk(number: int) -> str:
    return f"chunk{number}"

"""The training loop: everything that one rank does, from its first collective to its last checkpoint.

Run by training/launch.py under torchrun; start it with `bash training/train_idefics2.sh`.
"""

import itertools
import math
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import torch
from megatron.core import parallel_state
from megatron.core.optimizer import MegatronOptimizer, OptimizerConfig, get_megatron_optimizer
from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.energon import SavableDataLoader
from transformers import AutoProcessor

from data.errors import UserError
from data.shard import read_manifest
from training import checkpoint, layout
from training.config import Config
from training.dataset import MicroBatch, MicroBatchEncoder, Place, build_loader
from training.encoding import ConversationEncoder
from training.metrics import StepMetrics, StepReporter
from training.models.checkpoint_folder import copy_hf_files, find_weights, iteration_name, read_tracker
from training.models.registry import Family, family
from training.parallel import Chunks, build_model, connect, finish_param_sync, unwrap


def train(config: Config) -> None:
    """Run, or resume, until all optimizer steps are done and saved."""
    manifest = read_manifest(config.dataset_path)
    train_iters = config.num_iters(manifest["num_samples"])
    layout.initialize(config.layout, config.seed)
    _, hf_files = find_weights(config.pretrain_checkpoint_path)
    kind = family(hf_files)
    model = build_model(kind, kind.read_config(hf_files), config.layout, config.trainable, config.seed)
    optimizer = build_optimizer(config, model)
    scheduler = build_scheduler(config, optimizer, train_iters)
    loader = build_data(config, kind, hf_files)
    state = checkpoint.TrainingState(unwrap(model), optimizer, scheduler, loader)
    iteration = start_or_resume(config, state, hf_files)

    batches = iter(loader)
    reporter = StepReporter(config, train_iters)
    while iteration < train_iters:
        started = time.perf_counter()
        metrics = train_step(config, model, optimizer, scheduler, batches)
        iteration += 1
        reporter.report(iteration, metrics, time.perf_counter() - started)
        if not math.isfinite(metrics.grad_norm):
            raise UserError(f"iteration {iteration}: gradient norm is {metrics.grad_norm}; try a lower LR or PR=fp32")
        if iteration % config.save_interval == 0 or iteration == train_iters:
            finish_param_sync(model)
            identity = config.identity(torch.distributed.get_world_size(), manifest)
            checkpoint.save(state, config.checkpoint_path, iteration, identity)
            reporter.note(f"saved {config.checkpoint_path / iteration_name(iteration)}")
    reporter.close()
    layout.finalize()


def build_optimizer(config: Config, model: Chunks) -> MegatronOptimizer:
    """Adam on fp32 main weights, and the hooks by which Megatron's schedules finish gradients."""
    bf16 = config.layout.bf16
    optimizer_config = OptimizerConfig(
        optimizer="adam",
        lr=config.lr,
        min_lr=config.min_lr,
        weight_decay=config.weight_decay,
        adam_beta1=0.9,
        adam_beta2=0.999,
        clip_grad=config.clip_grad,
        bf16=bf16,
        params_dtype=torch.bfloat16 if bf16 else torch.float32,
        use_distributed_optimizer=config.layout.distributed_optimizer,
        overlap_param_gather=config.layout.overlap and config.layout.distributed_optimizer,
    )
    optimizer = get_megatron_optimizer(optimizer_config, model)
    connect(optimizer, model)
    return optimizer


def build_scheduler(config: Config, optimizer: MegatronOptimizer, train_iters: int) -> OptimizerParamScheduler:
    """Linear warm-up, then a cosine down to `min_lr` at the last step."""
    return OptimizerParamScheduler(
        optimizer,
        init_lr=0.0,
        max_lr=config.lr,
        min_lr=config.min_lr,
        lr_warmup_steps=min(config.lr_warmup_iters, train_iters - 1),
        lr_decay_steps=train_iters,
        lr_decay_style="cosine",
        start_wd=config.weight_decay,
        end_wd=config.weight_decay,
        wd_incr_steps=train_iters,
        wd_incr_style="constant",
        use_checkpoint_opt_param_scheduler=False,
        override_opt_param_scheduler=True,
    )


def build_data(config: Config, kind: Family, hf_files: Path) -> SavableDataLoader[MicroBatch]:
    """The endless stream of this rank's micro-batches."""
    place = Place(
        data_rank=parallel_state.get_data_parallel_rank(),
        data_size=parallel_state.get_data_parallel_world_size(),
        image_rank=parallel_state.get_tensor_and_context_parallel_rank(),
        image_size=parallel_state.get_tensor_and_context_parallel_world_size(),
        encodes_images=parallel_state.is_pipeline_first_stage(),
    )
    options = {"do_image_splitting": False} if kind.name == "idefics2" else {}
    processor = AutoProcessor.from_pretrained(hf_files, **options)
    encoder = MicroBatchEncoder(
        ConversationEncoder(processor, config.seq_len, config.image_num, config.loss),
        place,
        kind.image_encoder_class(processor, kind.read_config(hf_files)),
        batch_size=config.batch_size,
        pad_multiple=config.layout.sequence_multiple,
        pad_length=None if config.pads_to_longest else config.seq_len,
    )
    samples_per_step = config.global_batch_size // place.data_size
    return build_loader(config.dataset_path, encoder, samples_per_step, config.num_workers, config.seed)


def start_or_resume(config: Config, state: checkpoint.TrainingState, hf_files: Path) -> int:
    """The iteration to continue from; 0 with the pretrained weights when this run has no checkpoint yet."""
    if read_tracker(config.checkpoint_path) is not None:
        weights, _ = find_weights(config.checkpoint_path)
        return checkpoint.resume(state, weights)
    weights, _ = find_weights(config.pretrain_checkpoint_path)
    checkpoint.load_model(state.models, weights)
    state.optimizer.reload_model_params()
    if torch.distributed.get_rank() == 0:
        config.checkpoint_path.mkdir(parents=True, exist_ok=True)
        copy_hf_files(hf_files, config.checkpoint_path)
    return 0


def train_step(
    config: Config,
    model: Chunks,
    optimizer: MegatronOptimizer,
    scheduler: OptimizerParamScheduler,
    batches: Iterator[MicroBatch],
) -> StepMetrics:
    """One optimizer step over a global batch."""
    for chunk in model:
        chunk.zero_grad_buffer()
    optimizer.zero_grad()
    scheduler.step(1)  # first, so that the first step already has a learning rate
    losses = forward_backward(config, model, batches)
    _, grad_norm, _ = optimizer.step()
    return StepMetrics.reduce(losses, grad_norm, optimizer.param_groups[0]["lr"])


def forward_backward(config: Config, model: Chunks, batches: Iterator[MicroBatch]) -> list[dict[str, torch.Tensor]]:
    """Accumulate the gradients of this replica's micro-batches; losses come back on the last pipeline stage."""
    num_microbatches = config.global_batch_size // config.batch_size // parallel_state.get_data_parallel_world_size()
    return get_forward_backward_func()(
        forward_step_func=forward_step,
        data_iterator=list(itertools.tee(batches, len(model))) if len(model) > 1 else batches,
        model=model if len(model) > 1 else model[0],
        num_microbatches=num_microbatches,
        seq_length=config.seq_len,
        micro_batch_size=config.batch_size,
        forward_only=False,
    )


def forward_step(batches: Iterator[MicroBatch], model: torch.nn.Module) -> tuple[torch.Tensor, partial]:
    """One micro-batch through this pipeline stage, and the function that makes its loss of the last stage's output."""
    batch = next(batches).on(layout.device())
    output = model(batch.tokens, labels=batch.labels, images=batch.images)
    return output, partial(weighted_loss, batch)


def weighted_loss(batch: MicroBatch, losses: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Mean over the samples of each sample's weighted token losses [b, s]."""
    loss = (losses * batch.loss_weights).sum() / batch.tokens.size(0)
    reported = loss.detach().clone()  # Megatron scales `loss` in place
    return loss, {"loss": reported, "num_tokens": torch.tensor(float(batch.num_tokens), device=loss.device)}

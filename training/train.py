"""The training loop: everything that one rank does, from its first collective to its last checkpoint.

Run by training/launch/launch.py under torchrun; start it with `bash training/train_idefics2.sh`.
"""

import math
from pathlib import Path
from typing import Any

import torch
from megatron.core import parallel_state

from data.adapter_record import AdapterRecord
from data.checkpoint_folder import copy_hf_files, find_weights, read_tracker
from data.shards.shard import read_manifest
from models.family import Family
from models.images import ImageEncoder
from models.processor import describe, load_processor, mark_as_trained, splitting_remark, to_stderr, write_chat_template
from models.registry import family
from models.tokens.encoding import ConversationEncoder, Reads
from training import layout
from training.algorithms.algorithm import Algorithm
from training.batches.collate import Collator, OptimizerStep, Place
from training.batches.columns import ColumnJoin
from training.batches.cost import CostModel
from training.batches.dataset import ShareEncoder, build_loader
from training.batches.feed import Feed, Replica
from training.batches.pixel_queue import PixelQueue
from training.checkpoints import checkpoint
from training.config import Config
from training.loop.clock import Clock
from training.loop.evaluate import Evaluator
from training.loop.metrics import StepMetrics, StepReporter
from training.loop.objective import Objective
from training.loop.optimization import Guard, build_optimizer, build_scheduler, guarded_step
from training.loop.parallel import Chunks, build_model, finish_param_sync, unwrap
from training.loop.step import forward_backward
from training.loop.stop import Stop
from training.loop.vision_meter import VisionMeter
from training.modules import kernels


def train(config: Config) -> bool:
    """Run, or resume, until all optimizer steps are done and saved.

    Returns False when it was asked to stop before (SIGTERM); the last step it did is saved then, too.
    """
    manifest = read_manifest(config.dataset_path)
    train_iters = config.num_iters(config.num_samples(manifest))
    stop = Stop()
    layout.initialize(config.layout, config.seed)
    pretrained, hf_files = find_weights(config.pretrain_checkpoint_path)[0], config.hf_files
    kind = family(hf_files)
    hf = kind.read_config(hf_files)
    model = build_model(kind, hf, config.layout, config.trainable, config.seed)
    report_kernels(model)
    optimizer = build_optimizer(config, model)
    scheduler = build_scheduler(config, optimizer, train_iters)
    processor = load_processor(hf_files)
    say_what_is_seen(hf_files, processor)
    image_encoder = kind.image_encoder(processor, hf)
    algorithm = config.build_algorithm()
    cost_model = build_cost_model(config, kind, hf, build_encoder(config, processor, image_encoder))
    collator = build_collator(config, image_encoder, PixelQueue(config.num_workers))
    feed = build_feed(config, cost_model, algorithm, collator)
    guard = Guard(config.spike_factor)
    adapter = adapter_record(config, pretrained)
    state = checkpoint.TrainingState(unwrap(model), optimizer, scheduler, guard, feed, config.layout, adapter)
    iteration = start_or_resume(config, state, pretrained, hf_files)
    writer = checkpoint.CheckpointWriter(
        config.checkpoint_path,
        {**config.identity(manifest), "train_iters": train_iters},
        config.keep_last,
        config.async_save,
    )
    evaluator = Evaluator(config, model, cost_model, build_collator(config, image_encoder), feed.replica)
    reporter = StepReporter(config, train_iters)
    clock = Clock(VisionMeter(unwrap(model)[0].vision_modules(), kind.vision_side(hf)))

    while iteration < train_iters and not stop.requested():
        clock.restart()
        with clock.measure("data"):
            step = feed.take()
        metrics = train_step(config, hf, model, algorithm, state, step, clock)
        iteration += 1
        reporter.report(iteration, metrics)
        if evaluator.is_due(iteration, train_iters):
            finish_param_sync(model)
            reporter.report_validation(iteration, *evaluator.loss())
        writer.poll()
        if iteration % config.save_interval == 0 or iteration == train_iters:
            finish_param_sync(model)
            writer.save(state, iteration)
        reporter.note_saved(writer.take_completed())
    if stop.requested() and iteration < train_iters and iteration % config.save_interval:
        finish_param_sync(model)
        writer.save(state, iteration)
    feed.close()
    writer.wait()
    reporter.note_saved(writer.take_completed())
    reporter.close()
    layout.finalize()
    return iteration == train_iters


def say_what_is_seen(hf_files: Path, processor: Any) -> None:
    """How images are prepared, on the first rank."""
    if torch.distributed.get_rank() == 0:
        to_stderr(
            splitting_remark(hf_files, processor) or f"images: {describe(hf_files, processor)} (as {hf_files} says)"
        )


def report_kernels(model: Chunks) -> None:
    """Among the first lines of a run's log."""
    if torch.distributed.get_rank() == 0:
        print(*kernels.report(unwrap(model)[0].kernels), sep="\n", flush=True)


def build_encoder(
    config: Config, processor: Any, image_encoder: ImageEncoder, reads: Reads | None = None
) -> ConversationEncoder:
    """How a conversation becomes tokens; `reads`: which of them are marked, where it is not what training predicts."""
    return ConversationEncoder(processor, image_encoder, config.seq_len, config.image_num, reads or config.reads)


def build_cost_model(config: Config, kind: Family, hf: Any, encoder: ConversationEncoder) -> CostModel:
    """How the samples of a step are dealt out to replicas."""
    return CostModel(encoder, hf.get_text_config(), kind.vision_side(hf), config.trainable.vision, config.packing)


def build_feed(config: Config, cost_model: CostModel, algorithm: Algorithm, collator: Collator) -> Feed:
    """This rank's steps; a collective over all ranks."""
    place = collator.place
    replica, loader = Replica.own(place.data_rank), None
    if replica.reads:
        join = ColumnJoin(algorithm, config.column_paths)
        sizes = (config.global_batch_size, place.data_rank, place.data_size)
        share_encoder = ShareEncoder(cost_model, join, config.dataset_path, *sizes, config.left_out.keys)
        num_loaders = config.num_loaders(read_manifest(config.dataset_path))
        loader = build_loader(config.dataset_path, share_encoder, config.group_by_length, num_loaders, config.seed)
    return Feed(loader, replica, collator, config.num_workers)


def build_collator(config: Config, image_encoder: ImageEncoder, pixel_queue: PixelQueue | None = None) -> Collator:
    """How samples become this rank's micro-batches; without a queue pixels are made when they are needed."""
    place = Place(
        data_rank=parallel_state.get_data_parallel_rank(),
        data_size=parallel_state.get_data_parallel_world_size(),
        image_rank=parallel_state.get_tensor_and_context_parallel_rank(),
        image_size=parallel_state.get_tensor_and_context_parallel_world_size(),
        encodes_images=parallel_state.is_pipeline_first_stage(),
    )
    return Collator(
        place,
        image_encoder,
        batch_size=config.batch_size,
        seq_len=config.seq_len,
        packing=config.packing,
        pad_multiple=math.lcm(config.tp, config.layout.sequence_multiple),
        pad_to_seq_len=not config.pads_to_longest,
        segment_multiple=config.layout.segment_multiple,
        micro_batch_multiple=config.pp if config.vpp > 1 else 1,
        pixel_queue=pixel_queue or PixelQueue(),
    )


def adapter_record(config: Config, base: Path) -> AdapterRecord | None:
    """Of the adapters that learn above the iteration `base`; None where there are none."""
    lora = config.trainable.lora
    return AdapterRecord(lora.rank, lora.alpha, base.resolve()) if lora else None


def start_or_resume(config: Config, state: checkpoint.TrainingState, pretrained: Path, hf_files: Path) -> int:
    """The iteration to continue from; 0 with the pretrained weights when this run has no checkpoint yet."""
    if read_tracker(config.checkpoint_path) is not None:
        if state.adapter:
            checkpoint.load_model(state.models, pretrained)  # the run's own checkpoints hold what learns alone
        weights, _ = find_weights(config.checkpoint_path)
        return checkpoint.resume(state, weights)
    checkpoint.load_model(state.models, pretrained)
    state.optimizer.reload_model_params()
    if torch.distributed.get_rank() == 0:
        config.checkpoint_path.mkdir(parents=True, exist_ok=True)
        copy_hf_files(hf_files, config.checkpoint_path)
        write_chat_template(config.checkpoint_path)
        mark_as_trained(config.checkpoint_path)
    return 0


def train_step(
    config: Config,
    hf: Any,
    model: Chunks,
    algorithm: Algorithm,
    state: checkpoint.TrainingState,
    step: OptimizerStep,
    clock: Clock,
) -> StepMetrics:
    """One optimizer step over a global batch; the guard may skip its last act."""
    for chunk in model:
        chunk.zero_grad_buffer()
    state.optimizer.zero_grad()
    state.scheduler.step(1)  # first, so that the first step already has a learning rate
    with clock.measure("forward_backward"):
        objective = Objective.of_step(algorithm, step.micro_batches)
        losses = forward_backward(model, step.micro_batches, config.seq_len, objective)
    clock.move("forward_backward", "data", step.waited_s)
    with clock.measure("optimizer"):
        grad_norm, skipped = guarded_step(state.optimizer, state.guard, losses)
    lr = state.optimizer.param_groups[0]["lr"]
    statistics = objective.statistics() if losses else {}
    return StepMetrics.reduce(losses, statistics, step, grad_norm, lr, skipped, clock, hf.get_text_config())

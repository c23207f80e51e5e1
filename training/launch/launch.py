"""Training with a check before it and one clear line after it. Start it with `bash training/train_idefics2.sh`.

What can be known to fail is refused here, within seconds, before any rank starts. A run that is complete ends at once.
The exit code is that of the rank that failed first, 143 for a run that SIGTERM stopped.
"""

import dataclasses
import importlib.util
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import make_folder, read_object
from data.checkpoint_folder import IDENTITY_FILE, RELEASE, find_weights, fingerprint, is_critic, read_tracker
from data.names import check_name
from data.shards.shard import read_manifest
from models.family import Family
from models.language import sliding_window
from models.registry import family
from training.batches.columns import ColumnJoin
from training.config import Config, script_of
from training.launch import torchrun
from training.launch.devices import Ranks, plan_ranks
from training.launch.foreign_tars import shards_to_read
from training.launch.survey import Reading, check_samples
from training.loop.stop import EXIT_CODE
from training.memory.per_gpu import config_folder, print_plan
from training.modules import kernels
from training.modules.language.form import check_layout
from training.modules.trainable import check_adapters


def main(config: Config) -> int:
    """Check, then train under torchrun with this process's own flags and environment."""
    if config.dry_run:
        check_learns(config, check_family(config, config_folder(config.pretrain_checkpoint_path)))
        check_sizes(config, config.num_gpus or config.layout.model_ranks * max(1, config.dp))
        print_plan(config)
        return 0
    check_model(config, config.hf_files)  # first, since the data may take long to convert
    config = dataclasses.replace(config, dataset_path=shards_to_read(config.dataset_path))
    ranks = ranks_of(config)
    check(config, ranks.per_host * config.host_num)
    if is_complete(config):
        print(f"{config.checkpoint_path}: complete")
        return 0
    if ranks.note:
        print(ranks.note, flush=True)
    if config.layout.bf16 and kernels.cpu_lacks_bf16():
        print("PR=bf16: this CPU has no instructions for it and is many times as fast with PR=fp32", flush=True)
    manifest = read_manifest(config.dataset_path)
    num_samples = config.num_samples(manifest)
    if (num_loaders := config.num_loaders(manifest)) < config.num_workers:
        print(f"NUM_WORKERS={num_loaders}, not {config.num_workers}: one for each training sample", flush=True)
    steps = config.num_iters(num_samples)
    passes = steps * config.global_batch_size / num_samples
    fewer = f"; TRAIN_EPOCHS=3 makes {3 * num_samples / config.global_batch_size:.0f} steps" if passes > _MANY else ""
    told = f"{num_samples} samples, {config.global_batch_size} a step, {steps} steps"
    print(f"{told}: {passes:.3g} passes over them{fewer}", flush=True)
    hosts = torchrun.Hosts(config.host_num, config.index, config.chief_ip, config.master_port)
    read = ("--dataset_path", str(config.dataset_path))
    exit_code = torchrun.start("training.launch.worker", ranks.per_host, hosts, read)
    if exit_code or is_complete(config):
        return exit_code
    print(f"{config.checkpoint_path}: stopped before its end; the same command continues it")
    return EXIT_CODE


def ranks_of(config: Config) -> Ranks:
    """How many ranks this run has; see `plan_ranks` for what it refuses."""
    samples, rest = divmod(config.global_batch_size, config.batch_size)
    return plan_ranks(
        config.layout,
        0 if rest else samples,
        replicas=config.dp,
        per_host=config.host_gpu_num,
        num_hosts=config.host_num,
    )


def check(config: Config, num_ranks: int) -> None:
    """`UserError` when data or checkpoint are missing or of the wrong kind, or sizes do not divide."""
    manifest = read_manifest(config.dataset_path)
    if not (config.dataset_path / ".nv-meta" / "dataset.yaml").exists():
        raise UserError(
            f"{config.dataset_path}: no energon index (.nv-meta, which copies without hidden files lose); copy the "
            "folder again, or convert with toolkits/convert_to_tar_data.py"
        )
    if not manifest["num_samples"]:
        raise UserError(f"{config.dataset_path}: no samples to train on")
    weights, _ = find_weights(config.pretrain_checkpoint_path)
    if is_critic(weights) and not config.trainable.value_heads:
        raise UserError(f"{weights}: is a critic, not a policy; give the policy's checkpoint")
    check_model(config, config.hf_files)
    check_adapters(weights, config.trainable.lora)
    check_sizes(config, num_ranks)
    if config.wandb_project and importlib.util.find_spec("wandb") is None:
        raise UserError("WANDB_PROJECT needs the wandb package; pip install wandb")
    join = ColumnJoin(config.build_algorithm(), config.column_paths)
    join.check_maker(config.algorithm)
    join.check_policy(fingerprint(weights, "*.distcp"), config.image_num)
    check_name("RUN_NAME", config.output_name)
    reading = Reading(config.hf_files, config.seq_len, config.image_num, config.reads, join)
    left_out = check_samples(config.dataset_path, reading, config.skip_bad_samples)
    if not left_out.num_left(manifest):
        raise UserError(f"{config.dataset_path}: all samples are bad, such as {left_out.samples[0].reason}")
    make_folder(config.checkpoint_path, "the folder of checkpoints")
    left_out.write(config.left_out_path)


def check_sizes(config: Config, num_ranks: int) -> None:
    """`UserError` when ranks, batches and sequences cannot be cut as the options ask."""
    if num_ranks % config.layout.model_ranks:
        parts = f"TP={config.tp} x PP={config.pp}" + (f" x CP={config.cp}" if config.cp > 1 else "")
        raise UserError(f"{num_ranks} processes cannot be cut into {parts}")
    data_parallel = num_ranks // config.layout.model_ranks
    if config.global_batch_size % (config.batch_size * data_parallel):
        raise UserError(
            f"GLOBAL_BATCH_SIZE={config.global_batch_size} is not a multiple of BATCH_SIZE={config.batch_size} "
            f"x {data_parallel} data-parallel ranks"
        )
    if config.seq_len % config.layout.sequence_multiple:
        raise UserError(
            f"SEQ_LEN={config.seq_len} is not a multiple of {config.layout.sequence_multiple}, as SP or CP need"
        )


def check_model(config: Config, hf_files: Path) -> None:
    """`UserError` when the model is not what was asked for, does not fit the layout, or nothing of it learns."""
    kind = check_family(config, hf_files)
    hf = kind.read_config(hf_files)
    check_layout(hf, config.layout)
    check_kernels(config, hf)
    longest = hf.get_text_config().max_position_embeddings
    if config.seq_len > longest:
        raise UserError(f"SEQ_LEN={config.seq_len}, but this model knows {longest} positions only")
    check_learns(config, kind)


def check_learns(config: Config, kind: Family) -> None:
    """`UserError` when all of the model is frozen."""
    trainable = config.trainable
    sees = kind.reads_images and (trainable.vision or trainable.connector)
    if not (sees or trainable.language or trainable.lora):
        raise UserError("vision tower, connector and language model are all frozen: nothing is left to learn")


def check_family(config: Config, hf_files: Path) -> Family:
    """That of a model; `UserError` when another one was asked for."""
    kind = family(hf_files)
    if config.model_type not in ("", kind.name):
        raise UserError(
            f"{hf_files}: this is {kind.name}, not {config.model_type}; see training/{script_of(kind.name)}"
        )
    return kind


def check_kernels(config: Config, hf: Any) -> None:
    """`UserError` for what the kernels of this host cannot run, or when TE=true and it is not there."""
    text = hf.get_text_config()
    bf16, head_dim = config.layout.bf16, text.head_dim
    plain = kernels.takes_flash(bf16, head_dim) and not kernels.on_old_gpu()
    if config.te is not True and config.cp == 1 and plain:
        return  # importing TransformerEngine takes seconds
    found = kernels.look(config.te)
    chosen = kernels.choose(found, bf16, head_dim, config.trainable.lora is not None)
    window, packing = sliding_window(text), config.packing
    masked = config.cp > 1 or (window is not None and window < config.seq_len)
    kernels.check_attention(chosen, found, bf16, head_dim, masked)
    kernels.check_context_parallel(chosen, window, text, config.layout, packing)


def is_complete(config: Config) -> bool:
    """Whether this run has nothing left to do; `UserError` when it began with other data, another loss or rate, or
    another form of state, which no longer matters at its end."""
    latest = read_tracker(config.checkpoint_path)
    if latest is None:
        return False
    if latest == RELEASE:
        raise UserError(f"{config.checkpoint_path}: a converted checkpoint, no run's; give another RUN_NAME")
    weights, _ = find_weights(config.checkpoint_path)
    manifest = read_manifest(config.dataset_path)
    complete = int(latest) >= config.num_iters(config.num_samples(manifest))
    began, now = read_object(weights / IDENTITY_FILE), config.identity(manifest)
    changed = [name for name in now if name in began and began[name] != now[name]]  # older runs noted less
    if changed := [name for name in changed if not (complete and name in _OF_STATE)]:
        raise UserError(
            f"{weights}: began with another {', '.join(changed)}; resume with what it began with, or start a new "
            "RUN_NAME with PRETRAIN_CHECKPOINT_PATH on this folder"
        )
    return complete


_MANY = 10
"""Passes over the samples: more are seldom meant."""
_OF_STATE = ("adam", "do", "num_workers")
"""Of a run's identity what says nothing of its last weights."""

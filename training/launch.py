"""torchrun with a check before it and one clear line after it. Start it with `bash training/train_idefics2.sh`.

What can be known to fail is refused here, within seconds, before any rank starts. A run that is complete ends at once.
The exit code is that of the rank that failed first.
"""

import logging
import os
import sys

import torch
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.run import get_args_parser, run

from data import cli
from data.errors import UserError
from data.files import read_json
from data.shard import read_manifest
from training.config import Config, parse
from training.models.checkpoint_folder import IDENTITY_FILE, find_weights, read_tracker
from training.models.language import check_layout
from training.models.registry import family


def main(config: Config) -> int:
    """Check, then train under torchrun with this process's own flags and environment."""
    num_processes = config.host_gpu_num or torch.cuda.device_count() or config.layout.model_ranks * config.dp
    check(config, num_processes * config.host_num)
    if is_complete(config, num_processes * config.host_num):
        print(f"{config.checkpoint_path}: complete")
        return 0
    os.environ["TQDM_DISABLE"] = "1"  # energon's bars
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // num_processes)))
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "1")  # the order in which Megatron overlaps its collectives
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)  # the failure is reported below
    try:
        run(get_args_parser().parse_args(_torchrun_arguments(config, num_processes)))
    except ChildFailedError as error:
        return _report(error)
    return 0


def check(config: Config, num_ranks: int) -> None:
    """`UserError` when data or checkpoint are missing or of the wrong kind, or sizes do not divide."""
    num_samples = read_manifest(config.dataset_path)["num_samples"]
    if not (config.dataset_path / ".nv-meta" / "dataset.yaml").exists():
        raise UserError(
            f"{config.dataset_path}: no energon index (.nv-meta); convert with toolkits/convert_to_tar_data.py"
        )
    _, hf_files = find_weights(config.pretrain_checkpoint_path)
    check_layout(family(hf_files).read_config(hf_files), config.layout)
    if num_ranks % config.layout.model_ranks:
        parts = f"TP={config.tp} x PP={config.pp}" + (f" x CP={config.cp}" if config.cp > 1 else "")
        raise UserError(f"{num_ranks} processes cannot be cut into {parts}")
    data_parallel = num_ranks // config.layout.model_ranks
    if config.global_batch_size % (config.batch_size * data_parallel):
        raise UserError(
            f"GLOBAL_BATCH_SIZE={config.global_batch_size} is not a multiple of BATCH_SIZE={config.batch_size} "
            f"x {data_parallel} data-parallel ranks"
        )
    if num_samples < data_parallel:
        raise UserError(f"{config.dataset_path}: {num_samples} samples for {data_parallel} data-parallel ranks")
    if config.sp == "true" and (config.tp == 1 or config.seq_len % config.tp):
        raise UserError(f"SP=true needs TP > 1 that divides SEQ_LEN, not TP={config.tp} and SEQ_LEN={config.seq_len}")


def is_complete(config: Config, num_ranks: int) -> bool:
    """Whether this run has nothing left to do; `UserError` when it began with other data or in another layout."""
    latest = read_tracker(config.checkpoint_path)
    if latest is None:
        return False
    manifest = read_manifest(config.dataset_path)
    if int(latest) >= config.num_iters(manifest["num_samples"]):
        return True
    weights, _ = find_weights(config.checkpoint_path)
    began, now = read_json(weights / IDENTITY_FILE), config.identity(num_ranks, manifest)
    changed = [name for name in now if began.get(name) != now[name]]
    if changed:
        raise UserError(
            f"{weights}: began with another {', '.join(changed)}; resume with what it began with, or start a new "
            "RUN_NAME with PRETRAIN_CHECKPOINT_PATH on this folder"
        )
    return False


def _torchrun_arguments(config: Config, num_processes: int) -> list[str]:
    if config.host_num == 1:
        rendezvous = ["--standalone"]
    else:
        rendezvous = [f"--nnodes={config.host_num}", f"--node-rank={config.index}"]
        rendezvous += [f"--master-addr={config.chief_ip}", f"--master-port={config.master_port}"]
    return [*rendezvous, f"--nproc-per-node={num_processes}", "-m", "training.worker", *sys.argv[1:]]


def _report(error: ChildFailedError) -> int:
    """One line about the first failure; its exit code, or 1 for a rank that was killed."""
    rank, failure = error.get_first_failure()
    message = failure.message["message"] if isinstance(failure.message, dict) else failure.message
    if failure.exitcode == 2:  # an error from a loader's process carries that process's traceback in front
        print(f"error: {message.strip().splitlines()[-1].split('UserError: ')[-1]}", file=sys.stderr)
        return 2
    print(f"error: rank {rank} failed with exit code {failure.exitcode}: {message}", file=sys.stderr)
    return failure.exitcode if failure.exitcode > 0 else 1


if __name__ == "__main__":
    sys.exit(cli.guarded(main, parse()))

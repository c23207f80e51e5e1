"""What a step reports: a log line, TensorBoard scalars, a line of metrics.jsonl, and wandb when asked.

Written by one rank, the first that has the loss.
"""

import dataclasses
import hashlib
import json
import logging
import math
import resource
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from megatron.core import parallel_state
from torch.utils.tensorboard import SummaryWriter

from common.progress import Reporter
from training.batches.collate import MicroBatch, OptimizerStep
from training.batches.flops import language_flops, peak_flops
from training.config import Config
from training.loop.clock import Clock
from training.loop.step import sum_over_replicas
from training.modules.batching import IGNORE

_STEPS_TO_TELL = 3
"""After so many it is known how long the others take."""
log = logging.getLogger("training")


@dataclasses.dataclass(frozen=True)
class StepMetrics:
    """Of one optimizer step.

    loss: the algorithm's (0 on ranks before the last pipeline stage). num_tokens: without padding.
    flops: of all GPUs together. seconds: by phase, of the slowest rank. memory_gb: the fullest rank's peak so far.
    skipped: why the weights did not change, or None. samples: a digest of the step's sample keys in order.
    work_max_to_mean: FLOPs of the replica that has most to do, by the mean of all; None of a single one.
    statistics: the algorithm's own, on ranks of the last pipeline stage.
    """

    loss: float
    grad_norm: float
    lr: float
    num_tokens: int
    flops: float
    step_seconds: float
    seconds: dict[str, float]
    memory_gb: float
    skipped: str | None
    samples: str
    work_max_to_mean: float | None
    statistics: dict[str, float]

    @staticmethod
    def reduce(
        losses: Sequence[torch.Tensor],
        statistics: dict[str, float],
        step: OptimizerStep,
        grad_norm: float,
        lr: float,
        skipped: str | None,
        clock: Clock,
        text: Any,
    ) -> "StepMetrics":
        """Collect over all ranks; `text` is the language model's configuration. A collective."""
        batches = step.micro_batches
        counted = parallel_state.get_model_parallel_group().rank() == 0 and _first_of_sequence()
        of_replicas = [0.0] * parallel_state.get_data_parallel_world_size()
        of_replicas[parallel_state.get_data_parallel_rank()] = clock.vision.flops + counted * _flops_of(text, batches)
        sums = [counted * sum(batch.num_tokens for batch in batches), *of_replicas]
        num_tokens, *of_replicas = _all_reduce(sums, torch.distributed.ReduceOp.SUM)
        flops, num_replicas = sum(of_replicas), len(of_replicas)
        seconds, peak_memory = clock.seconds, _peak_memory_gb()
        *slowest, memory_gb = _all_reduce([*seconds.values(), peak_memory], torch.distributed.ReduceOp.MAX)
        return StepMetrics(
            loss=mean_loss(losses),
            grad_norm=grad_norm,
            lr=lr,
            num_tokens=int(num_tokens),
            flops=flops,
            step_seconds=clock.total(),
            seconds=dict(zip(seconds, slowest, strict=True)),
            memory_gb=memory_gb,
            skipped=skipped,
            samples=hashlib.sha256("\n".join(step.keys).encode()).hexdigest()[:16],
            work_max_to_mean=max(of_replicas) * num_replicas / flops if num_replicas > 1 and flops else None,
            statistics=statistics,
        )


def _flops_of(text: Any, batches: Sequence[MicroBatch]) -> float:
    return sum(
        language_flops(text, batch.lengths, batch.reads, int((batch.labels != IGNORE).sum())) for batch in batches
    )


def mean_loss(losses: Sequence[torch.Tensor]) -> float:
    """The mean over the micro-batches of all replicas; 0 where there are no losses. A collective of the last stage."""
    if not losses:
        return 0.0
    total = sum_over_replicas(torch.stack(list(losses)).sum() / len(losses))
    return float(total) / parallel_state.get_data_parallel_world_size()


def _first_of_sequence() -> bool:
    return parallel_state.get_context_parallel_rank() == 0


def _all_reduce(values: Sequence[float], operation: Any) -> list[float]:
    tensor = torch.tensor(values, dtype=torch.float64, device=torch.cuda.current_device())
    torch.distributed.all_reduce(tensor, op=operation)
    return tensor.tolist()


def _peak_memory_gb() -> float:
    """Of the GPU's allocator, or of this process where there is no GPU."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 2**30
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def has_the_loss_first() -> bool:
    """Whether this rank reports: the first of those that have the loss."""
    first = parallel_state.get_tensor_model_parallel_rank() == 0 and _first_of_sequence()
    first = first and parallel_state.get_data_parallel_rank() == 0
    return first and parallel_state.is_pipeline_last_stage()


class StepReporter:
    """Writes on the first rank that has the loss, keeps silent on the others."""

    def __init__(self, config: Config, train_iters: int) -> None:
        self.train_iters = train_iters
        self.active = has_the_loss_first()
        if not self.active:
            return
        peak = peak_flops(config.peak_tflops)
        self.peak_of_all = peak and peak * torch.distributed.get_world_size()
        self.writer = SummaryWriter(str(config.tensorboard_path))
        self.wandb = _start_wandb(config)
        config.log_path.mkdir(parents=True, exist_ok=True)
        self.lines = open(config.log_path / "metrics.jsonl", "a", buffering=1)  # noqa: SIM115 (until `close`)
        self.progress: Reporter | None = None
        self.first_seconds: list[float] = []
        _log_to(config.log_path / time.strftime("log_%m-%d_%H:%M:%S.txt"))

    def report(self, iteration: int, metrics: StepMetrics) -> None:
        """A step is done."""
        if not self.active:
            return
        tokens_per_s = metrics.num_tokens / metrics.step_seconds
        tflops = metrics.flops / metrics.step_seconds / torch.distributed.get_world_size() / 1e12
        mfu = metrics.flops / metrics.step_seconds / self.peak_of_all if self.peak_of_all else None
        utilization = f" (MFU {mfu:.1%})" if mfu else ""
        times = ", ".join(f"{name.replace('_', '-')} {value:.2f}" for name, value in metrics.seconds.items())
        balance = f" | work {metrics.work_max_to_mean:.3f} x mean" if metrics.work_max_to_mean else ""
        told = "".join(f", {name} {value:.4g}" for name, value in metrics.statistics.items())
        log.info(
            f"iteration {iteration}/{self.train_iters} | loss {metrics.loss:.6f} | grad norm {metrics.grad_norm:.4f} | "
            f"lr {metrics.lr:.3e}{told} | {tokens_per_s:.0f} tokens/s | {tflops:.3g} TFLOP/s per rank{utilization}"
            f"{balance} | {metrics.memory_gb:.1f} GB | {metrics.step_seconds:.2f} s ({times})"
        )
        self.progress = self.progress or Reporter("steps", self.train_iters, iteration - 1)
        self.progress(iteration, f"loss {metrics.loss:.3f}, {tokens_per_s:.0f} tokens/s")
        self._tell_time_left(self.train_iters - iteration, metrics.step_seconds)
        if metrics.skipped:
            log.info(f"iteration {iteration}: weights unchanged, because of {metrics.skipped}")
        scalars = {"loss": metrics.loss, "grad_norm": metrics.grad_norm, "lr": metrics.lr, "tokens_per_s": tokens_per_s}
        scalars |= {"tflops_per_rank": tflops, "memory_gb": metrics.memory_gb, "skipped": float(bool(metrics.skipped))}
        scalars |= {"mfu": mfu} if mfu else {}
        scalars |= {"work_max_to_mean": metrics.work_max_to_mean} if metrics.work_max_to_mean else {}
        self._scalars(iteration, "train", scalars | metrics.statistics)
        self._scalars(iteration, "seconds", {"step": metrics.step_seconds, **metrics.seconds})
        values = dataclasses.asdict(metrics)
        self._write_line({"iteration": iteration, **values.pop("statistics"), **values})

    def _tell_time_left(self, num_steps: int, step_seconds: float) -> None:
        """Once, when the first steps have shown the speed."""
        if len(self.first_seconds) == _STEPS_TO_TELL:
            return
        self.first_seconds.append(step_seconds)
        if num_steps and len(self.first_seconds) == _STEPS_TO_TELL:
            minutes = max(1, round(num_steps * statistics.median(self.first_seconds) / 60))
            log.info(f"{num_steps} steps left: about {minutes} {'minute' if minutes == 1 else 'minutes'} at this speed")

    def report_validation(self, iteration: int, loss: float, num_samples: int) -> None:
        """The loss on held-out tasks."""
        if self.active:
            log.info(f"iteration {iteration}: validation loss {loss:.6f} on {num_samples} samples of held-out tasks")
            self._scalars(iteration, "validation", {"loss": loss})
            self._write_line({"iteration": iteration, "validation_loss": loss})

    def note_saved(self, completed: list[Path]) -> None:
        """Checkpoints that became complete."""
        for path in completed:
            if self.active:
                log.info(f"saved {path}")

    def _write_line(self, values: dict[str, Any]) -> None:
        """JSON has no infinity: what is not finite becomes null."""
        finite = {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in values.items()
        }
        self.lines.write(json.dumps(finite, allow_nan=False) + "\n")

    def _scalars(self, iteration: int, group: str, scalars: dict[str, float]) -> None:
        for name, value in scalars.items():
            self.writer.add_scalar(f"{group}/{name}", value, iteration)
        if self.wandb:
            self.wandb.log({f"{group}/{name}": value for name, value in scalars.items()}, step=iteration)

    def close(self) -> None:
        """Flush everything."""
        if self.active:
            self.writer.close()
            self.lines.close()
            if self.wandb:
                self.wandb.finish()


def _start_wandb(config: Config) -> Any:
    if not config.wandb_project:
        return None
    import wandb  # checked by the launcher

    return wandb.init(
        project=config.wandb_project,
        name=config.output_name,
        id=config.output_name,
        resume="allow",
        config=dataclasses.asdict(config),
    )


def _log_to(file: Path) -> None:
    log.setLevel(logging.INFO)
    log.propagate = False
    for handler in (logging.StreamHandler(), logging.FileHandler(file)):
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
        log.addHandler(handler)

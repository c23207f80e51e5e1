"""What a step reports: one log line and TensorBoard scalars, written by one rank."""

import dataclasses
import logging
import time
from typing import Any

import torch
from megatron.core import parallel_state
from torch.utils.tensorboard import SummaryWriter

from training.config import Config

log = logging.getLogger("training")


@dataclasses.dataclass(frozen=True)
class StepMetrics:
    """Of one optimizer step, the same on every rank of the last pipeline stage; zero loss and tokens on the others."""

    loss: float
    num_tokens: int
    grad_norm: float
    lr: float

    @staticmethod
    def reduce(losses: list[dict[str, torch.Tensor]], grad_norm: float, lr: float) -> "StepMetrics":
        """Mean loss and number of tokens over the micro-batches of all replicas."""
        if not losses:
            return StepMetrics(0.0, 0, grad_norm, lr)
        total = torch.stack([torch.stack([entry["loss"], entry["num_tokens"]]) for entry in losses]).sum(dim=0)
        group = parallel_state.get_data_parallel_group()
        torch.distributed.all_reduce(total, group=group)
        return StepMetrics(float(total[0]) / len(losses) / group.size(), int(total[1]), float(grad_norm), lr)


class StepReporter:
    """Writes on the first rank that has the loss, keeps silent on the others."""

    def __init__(self, config: Config, train_iters: int) -> None:
        self.train_iters = train_iters
        ranks = (parallel_state.get_tensor_model_parallel_rank(), parallel_state.get_data_parallel_rank())
        self.active = parallel_state.is_pipeline_last_stage() and ranks == (0, 0)
        if not self.active:
            return
        self.writer = SummaryWriter(str(config.tensorboard_path))
        config.log_path.mkdir(parents=True, exist_ok=True)
        file = config.log_path / time.strftime("log_%m-%d_%H:%M:%S.txt")
        log.setLevel(logging.INFO)
        log.propagate = False
        for handler in (logging.StreamHandler(), logging.FileHandler(file)):
            handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
            log.addHandler(handler)

    def report(self, iteration: int, metrics: StepMetrics, seconds: float) -> None:
        """One step took `seconds`."""
        if not self.active:
            return
        tokens_per_s = metrics.num_tokens / seconds
        log.info(
            f"iteration {iteration}/{self.train_iters} | loss {metrics.loss:.6f} | grad norm {metrics.grad_norm:.4f} | "
            f"lr {metrics.lr:.3e} | {tokens_per_s:.0f} tokens/s | {seconds:.2f} s"
        )
        scalars: dict[str, Any] = {"loss": metrics.loss, "grad_norm": metrics.grad_norm, "lr": metrics.lr}
        for name, value in {**scalars, "tokens_per_s": tokens_per_s}.items():
            self.writer.add_scalar(f"train/{name}", value, iteration)

    def note(self, message: str) -> None:
        """A line between steps."""
        if self.active:
            log.info(message)

    def close(self) -> None:
        """Flush TensorBoard."""
        if self.active:
            self.writer.close()

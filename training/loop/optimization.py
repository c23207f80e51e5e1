"""The optimizer: its learning rate, the clipping of its gradient, and the guard that skips a broken step."""

import math
import statistics
from collections import deque
from collections.abc import Sequence
from typing import Any

import torch
from megatron.core.optimizer import MegatronOptimizer, OptimizerConfig, get_megatron_optimizer
from megatron.core.optimizer.clip_grads import clip_grad_by_total_norm_fp32
from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler

from common.errors import UserError
from training import layout
from training.config import Config
from training.loop.distributed_state import share_gathering
from training.loop.parallel import Chunks, connect


def build_optimizer(config: Config, model: Chunks) -> MegatronOptimizer:
    """Adam on fp32 main weights, with the hooks by which Megatron's schedules finish gradients."""
    bf16 = config.layout.bf16
    optimizer_config = OptimizerConfig(
        optimizer="adam",
        lr=config.lr,
        min_lr=config.min_lr,
        weight_decay=config.weight_decay,
        adam_beta1=0.9,
        adam_beta2=config.adam_beta2,
        clip_grad=config.clip_grad,
        bf16=bf16,
        params_dtype=torch.bfloat16 if bf16 else torch.float32,
        use_distributed_optimizer=config.layout.distributed_optimizer,
        overlap_param_gather=config.layout.overlap and config.layout.distributed_optimizer,
    )
    optimizer = get_megatron_optimizer(optimizer_config, model)
    if not torch.cuda.is_available():
        for group in optimizer.param_groups:
            group["fused"] = True  # one pass over each parameter in place of PyTorch's dozen on CPU
    connect(optimizer, model)
    share_gathering(optimizer)
    return optimizer


def build_scheduler(config: Config, optimizer: MegatronOptimizer, train_iters: int) -> OptimizerParamScheduler:
    """Linear warm-up, then `lr_schedule` down to `min_lr` at the last step (a constant one stays at `lr`)."""
    return OptimizerParamScheduler(
        optimizer,
        init_lr=0.0,
        max_lr=config.lr,
        min_lr=config.min_lr,
        lr_warmup_steps=min(config.lr_warmup_iters, train_iters - 1),
        lr_decay_steps=train_iters,
        lr_decay_style=config.lr_schedule,
        start_wd=config.weight_decay,
        end_wd=config.weight_decay,
        wd_incr_steps=train_iters,
        wd_incr_style="constant",
        use_checkpoint_opt_param_scheduler=False,
        override_opt_param_scheduler=True,
    )


class Guard:
    """Skips an optimizer step whose loss or gradient is not finite, or whose gradient is far larger than usual.

    Every rank sees the same norm, so all decide alike. Its memory is saved with a checkpoint, so that a resumed run
    decides as the uninterrupted one.
    """

    WINDOW, MIN_HISTORY, MAX_SKIPPED = 100, 20, 10

    def __init__(self, spike_factor: float) -> None:
        """`spike_factor`: how many times the median norm of the last steps is a spike; 0 looks for none."""
        self.spike_factor = spike_factor
        self.norms: deque[float] = deque(maxlen=self.WINDOW)
        self.skipped_in_a_row = 0

    def reason_to_skip(self, grad_norm: float, loss_is_finite: bool = True) -> str | None:
        """Why this step must not be taken, or None.

        Raises:
            UserError: `MAX_SKIPPED` steps in a row were broken: the run does not recover by itself.
        """
        reason = self._reason(grad_norm) if loss_is_finite else "a loss that is not finite"
        if reason is None:
            if grad_norm > 0:  # of a step whose samples all weigh nothing, which says nothing of the usual
                self.norms.append(grad_norm)
            self.skipped_in_a_row = 0
            return None
        self.skipped_in_a_row += 1
        if self.skipped_in_a_row == self.MAX_SKIPPED:
            raise UserError(f"{self.MAX_SKIPPED} steps in a row skipped, the last one for {reason}; try a lower LR")
        return reason

    def _reason(self, grad_norm: float) -> str | None:
        if not math.isfinite(grad_norm):
            return f"a gradient norm of {grad_norm}"
        if not self.spike_factor or len(self.norms) < self.MIN_HISTORY:
            return None
        usual = statistics.median(self.norms)
        if grad_norm > self.spike_factor * usual:
            return f"a gradient norm of {grad_norm:.4g}, more than {self.spike_factor:g} times the usual {usual:.4g}"
        return None

    def state_dict(self) -> dict[str, Any]:
        return {"norms": list(self.norms), "skipped_in_a_row": self.skipped_in_a_row}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.norms = deque(state["norms"], maxlen=self.WINDOW)
        self.skipped_in_a_row = state["skipped_in_a_row"]


@torch.no_grad()
def guarded_step(
    optimizer: MegatronOptimizer, guard: Guard, losses: Sequence[torch.Tensor]
) -> tuple[float, str | None]:
    """`MegatronOptimizer.step` in its parts, with the guard's word before anything changes; `losses` are this rank's.

    Returns (gradient norm before clipping, why the step was skipped or None). A collective over all ranks.
    """
    optimizer.prepare_grads()
    grad_norm = float(optimizer.get_grad_norm())
    skipped = guard.reason_to_skip(grad_norm, _are_finite(losses))
    if skipped is None:
        _clip(optimizer, grad_norm)
        optimizer.step_with_ready_grads()
    return grad_norm, skipped


def _are_finite(losses: Sequence[torch.Tensor]) -> bool:
    """Whether those of all ranks are: an infinite one may have a finite gradient."""
    broken = torch.zeros(1, device=layout.device())
    for loss in losses:
        broken += (~loss.isfinite()).any()
    torch.distributed.all_reduce(broken, torch.distributed.ReduceOp.MAX)
    return not broken.item()


def _clip(optimizer: MegatronOptimizer, grad_norm: float) -> None:
    for part in getattr(optimizer, "chained_optimizers", [optimizer]):
        parameters = [] if getattr(part, "is_stub_optimizer", False) else part.get_parameters()
        if parameters and part.config.clip_grad > 0:
            clip_grad_by_total_norm_fp32(parameters, part.config.clip_grad, grad_norm)

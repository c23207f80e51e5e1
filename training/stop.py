"""A polite end: SIGTERM (SLURM's, Kubernetes', a user's) stops training after the current step, with a checkpoint."""

import signal
from types import FrameType

import torch

EXIT_CODE = 128 + signal.SIGTERM
"""Of a run that was stopped before its end."""


class Stop:
    """Remembers a SIGTERM to this process; `requested` is the same on every rank."""

    def __init__(self) -> None:
        self.received = False
        signal.signal(signal.SIGTERM, self._remember)

    def _remember(self, signum: int, frame: FrameType | None) -> None:
        self.received = True

    def requested(self) -> bool:
        """Whether any rank was asked to stop; a collective over all ranks."""
        flag = torch.tensor([float(self.received)], device=torch.cuda.current_device())
        torch.distributed.all_reduce(flag, op=torch.distributed.ReduceOp.MAX)
        return bool(flag.item())

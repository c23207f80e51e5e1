"""A polite end: SIGTERM (SLURM's, Kubernetes', a user's) stops training after the current step, with a checkpoint."""

import os
import signal
import sys
import threading
from types import FrameType

import torch

EXIT_CODE = 128 + signal.SIGTERM
"""Of a run that was stopped before its end."""


def heed_parent_alone() -> None:
    """For a rank's loaders and checkpoint writers: a SIGTERM to all processes of a job, which is what some services and
    clusters send, must not take them from the rank before its last checkpoint. The rank's own still ends them."""
    if not sys.platform.startswith("linux"):
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    threading.Thread(target=_end_when_asked_by, args=(os.getppid(),), daemon=True).start()


def _end_when_asked_by(parent: int) -> None:
    while signal.sigwaitinfo({signal.SIGTERM}).si_pid != parent:
        pass
    os._exit(0)  # torch, whose handler of SIGTERM ends its loaders so, raises an error in the rank for any other code


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

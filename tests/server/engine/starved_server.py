"""The server on a device that runs out of memory now and then: the number of passes between, then the server's flags.

    python -m tests.server.engine.starved_server 40 --model_name_or_path DIR --port 8080

Such a pass is computed whole, and then asks the device for more than there can be: the allocator's own error, while a
batch has its memory. It fails once, which the engine's second try makes good, and the next time twice, which costs a
request.
"""

import itertools
import sys
from typing import Any

import torch

from common import cli
from server import hf_online_server
from server.config import ServerConfig
from server.engine import engine
from server.engine.model_step import ModelStep

_TOO_MANY_BYTES = 2**50  # beyond what a process can address


class StarvedStep(ModelStep):
    """The engine's step; all engines of the process count together."""

    every = 0
    passes = itertools.count(1)

    def __init__(self, model: Any, *args: Any) -> None:
        super().__init__(model, *args)
        if model.device.type == "cuda":  # with a limit the allocator refuses at once and does not try to map it all
            torch.cuda.set_per_process_memory_fraction(1.0, model.device)

    def _forward(self, *args: Any, **options: Any) -> torch.Tensor:
        logits = super()._forward(*args, **options)
        number = next(self.passes)
        if number % self.every == 0 or (number > 1 and number % (2 * self.every) == 1):
            torch.empty(_TOO_MANY_BYTES, dtype=torch.uint8, device=logits.device)
        return logits


if __name__ == "__main__":
    StarvedStep.every = int(sys.argv.pop(1))
    engine.ModelStep = StarvedStep
    cli.run(ServerConfig, hf_online_server.main, description=__doc__)

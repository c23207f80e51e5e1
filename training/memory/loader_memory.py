"""Host memory of the data loader, by arithmetic, for `--dry_run`."""

import dataclasses
from typing import Any

from models.registry import family_of
from training.batches.pixel_queue import PIXEL_BYTES
from training.config import Config
from training.memory.activations import largest_share

_BYTES_PER_TOKEN = 9  # an int64 id and its place in the loss mask
_STEPS_AHEAD = 4  # two that a rank fetches ahead, the one at work, and one on its way
_STEPS_PER_PROCESS = 2  # torch's loader: what a process has ready


@dataclasses.dataclass(frozen=True)
class LoaderMemory:
    """Bytes on one rank. `pixels`: on ranks of the first pipeline stage; `tokens`: at most, on every rank.

    Nothing of it is in shared memory.
    """

    pixels: int
    tokens: int

    @property
    def total(self) -> int:
        return self.pixels + self.tokens


def loader_memory(config: Config, hf: Any, data_parallel: int) -> LoaderMemory:
    """What waits for the model, and the micro-batch that it takes; `hf` is the model's configuration.

    A sample counts with `image_num` images of the largest size and `seq_len` tokens.
    """
    vision = family_of(hf).vision_side(hf)
    micro_batch = largest_share(config, vision) * vision.pixel_bytes
    ahead = max(PIXEL_BYTES, micro_batch) if config.num_workers and micro_batch else 0
    steps = _STEPS_AHEAD + _STEPS_PER_PROCESS * config.num_workers if config.num_workers else 1
    samples = -(-config.global_batch_size // data_parallel)
    return LoaderMemory(ahead + micro_batch, steps * samples * config.seq_len * _BYTES_PER_TOKEN)

"""What a run holds in the memory of its hosts, by arithmetic, for `--dry_run`.

A checkpoint is copied to the host whole before it is written, by every rank what it writes. On top come the processes
themselves, about 1 GB each without a GPU, and what they ask of the page cache.
"""

import dataclasses
from collections.abc import Sequence

from training.config import Config


@dataclasses.dataclass(frozen=True)
class Written:
    """Parameters that one tensor-parallel rank of a pipeline stage writes: their weights, and those with a state."""

    weights: int
    trained: int


def checkpoint_bytes(config: Config, written: Sequence[Sequence[Written]], num_gpus: int) -> list[int]:
    """By host: the copy of a checkpoint on it; `written` by pipeline stage and tensor-parallel rank.

    The first data-parallel rank writes weights and the optimizer's state; of the distributed optimizer's every
    data-parallel rank writes a part (`training/loop/distributed_state.py`).
    """
    layout = config.layout
    each = 2 if layout.bf16 else 4
    state = 12 if layout.bf16 or layout.distributed_optimizer else 8  # fp32 weights, unless they are the weights
    replicas = num_gpus // (layout.tensor_parallel * layout.pipeline_parallel)
    ranks = []
    for stage in written:
        for replica in range(replicas):
            for part in stage:
                trained = part.trained / replicas if layout.distributed_optimizer else part.trained * (replica == 0)
                ranks.append(each * part.weights * (replica == 0) + int(state * trained))
    per_host = -(-num_gpus // config.host_num)
    return [sum(ranks[first : first + per_host]) for first in range(0, num_gpus, per_host)]

"""Save with megatron-core's `torch_dist`."""

import queue
from pathlib import Path
from typing import Any

from megatron.core import dist_checkpointing
from megatron.core.dist_checkpointing.strategies import filesystem_async


def save(content: dict[str, Any], folder: Path) -> None:
    """Write `content` into the existing, empty `folder` and wait for it.

    megatron-core collects its writers' results in a queue of another process, which takes seconds to start and which
    only asynchronous saving needs: here the collector is this process.
    """
    filesystem_async._results_queue = queue.SimpleQueue()
    dist_checkpointing.save(content, str(folder))

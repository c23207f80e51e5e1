"""megatron-core's asynchronous saving without its manager process, which takes seconds to start and outlives a kill -9.

A forked process writes a snapshot of this rank's tensors and reports through a pipe, which a thread empties: a pipe
holds 64 KB only, and a writer that waits for a reader would never end.
"""

import multiprocessing
import queue
import threading
from pathlib import Path
from typing import Any

from megatron.core import dist_checkpointing
from megatron.core.dist_checkpointing.strategies import filesystem_async
from megatron.core.dist_checkpointing.strategies.async_utils import AsyncRequest

_TIMEOUT_S = 60


def prepare(content: dict[str, Any], folder: Path) -> AsyncRequest:
    """What `AsyncCallsQueue` needs to write `content` into the existing, empty `folder`."""
    filesystem_async._results_queue = _Results()
    return dist_checkpointing.save(content, str(folder), async_sharded_save=True)


class _Results:
    """The two methods of a queue that Megatron uses: the writer puts once, this process gets once."""

    def __init__(self) -> None:
        self.pipe = multiprocessing.get_context("fork").SimpleQueue()
        self.received: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=lambda: self.received.put(self.pipe.get()), daemon=True).start()

    def put(self, results: Any) -> None:
        self.pipe.put(results)

    def get_nowait(self) -> Any:
        """Asked when the writer has ended; its results are here or about to be."""
        return self.received.get(timeout=_TIMEOUT_S)

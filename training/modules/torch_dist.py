"""megatron-core's `torch_dist` checkpoints, for training on many ranks and for a converter that is alone.

Import it after `kernels.prepare()`.
"""

import contextlib
import queue
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from megatron.core import dist_checkpointing
from megatron.core.dist_checkpointing.strategies import filesystem_async
from torch.distributed.checkpoint.api import CheckpointException

from common.errors import UserError
from common.shown.terminal import in_short
from models.checkpoint.torch_dist_metadata import read_metadata


def initialize_alone() -> None:
    """Make this process the only rank."""
    store = torch.distributed.HashStore()  # pyright: ignore[reportPrivateImportUsage]  # documented, and not in __all__
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)


def save(content: dict[str, Any], folder: Path) -> None:
    """Write `content` into the existing, empty `folder` and wait for it.

    megatron-core collects its writers' results in a queue of another process, which takes seconds to start and which
    only asynchronous saving needs: here the collector is this process.
    """
    filesystem_async._results_queue = queue.SimpleQueue()
    dist_checkpointing.save(content, str(folder))


def load(content: dict[str, Any], folder: Path) -> dict[str, Any]:
    """`content` with its sharded tensors read from `folder`, however they were cut when they were saved.

    Raises:
        UserError: the checkpoint is damaged, or holds other things than `content`.
    """
    with _one_line(folder):
        return dist_checkpointing.load(content, str(folder), validate_access_integrity=False)


def tensor_shapes(folder: Path) -> dict[str, tuple[tuple[int, ...], torch.dtype]]:
    """(whole shape, dtype) of every tensor in `folder`; `UserError` where it is damaged."""
    with _one_line(folder):
        metadata = dist_checkpointing.load_tensors_metadata(str(folder))
        return {key: (entry.global_shape, entry.dtype) for key, entry in metadata.items()}


@contextlib.contextmanager
def _one_line(folder: Path) -> Iterator[None]:
    """Megatron unpickles the metadata freely, and raises of a damaged file whatever the damage makes it raise."""
    read_metadata(folder)
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError, torch.distributed.DistError, UserError):
        raise
    except (Exception, CheckpointException) as error:
        said = f"{type(error).__name__}: {in_short(str(error))}"
        raise UserError(f"{folder}: damaged, or not a checkpoint of this model ({said})") from error

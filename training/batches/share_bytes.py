"""A share of a global batch as bytes, between the processes of a run: what reads them can build nothing else."""

import io
import pickle
from pathlib import PosixPath

import torch

from training.batches.collate import Share, TokenizedSample
from training.batches.columns import SampleColumns
from training.samples.pictures import FilePart, Picture

torch.serialization.add_safe_globals([Share, TokenizedSample, SampleColumns, Picture, FilePart, PosixPath])


def to_bytes(share: Share | None) -> bytes:
    buffer = io.BytesIO()
    torch.save(share, buffer)
    return buffer.getvalue()


def from_bytes(content: bytes) -> Share | None:
    """What `to_bytes` was given.

    Raises:
        pickle.UnpicklingError: the bytes ask for anything but the parts of a share.
        EOFError, KeyError, RuntimeError: they are cut, or nothing of ours.
    """
    share = torch.load(io.BytesIO(content), weights_only=True)
    if not isinstance(share, Share | None):
        raise pickle.UnpicklingError(f"a {type(share).__name__} in place of a share")
    return share

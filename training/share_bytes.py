"""A share of a global batch as bytes, between the processes of a run: what reads them can build nothing else."""

import io
from pathlib import PosixPath

import torch

from training.collate import Share, TokenizedSample
from training.columns import SampleColumns
from training.pictures import FilePart, Picture

torch.serialization.add_safe_globals([Share, TokenizedSample, SampleColumns, Picture, FilePart, PosixPath])


def to_bytes(share: Share | None) -> bytes:
    buffer = io.BytesIO()
    torch.save(share, buffer)
    return buffer.getvalue()


def from_bytes(content: bytes) -> Share | None:
    """What `to_bytes` was given; pickle.UnpicklingError where the bytes ask for anything but the parts of a share."""
    share: Share | None = torch.load(io.BytesIO(content), weights_only=True)
    return share

"""A released shape with random weights."""

import shutil
from pathlib import Path

from tests.rehearsal.checkpoints import make_checkpoint
from tests.rehearsal.sizes import SIZES


def ensure(folder: Path, shape: str, device: str) -> Path:
    """The policy in `folder`, which is written where it is not there, as on a fresh machine. `device` draws the
    weights; on a CPU its layers are narrow."""
    if not folder.exists():
        tiny = next(size.changes for size in SIZES["tiny"].values() if size.shape == shape)
        partial = folder.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        make_checkpoint(partial, shape, tiny if device == "cpu" else {}, device)
        partial.rename(folder)
    return folder

"""Which files of a data set are held out, by their names: nobody means to train on them."""

import re
from collections.abc import Sequence
from pathlib import Path

from toolkits.readers.reading.left_out import LeftOut

_HELD_OUT = re.compile(r"(^|[^a-z])(test|val|valid|validation|dev|eval)([^a-z]|$)")


def to_train_on(folder: Path, files: Sequence[Path], left_out: LeftOut) -> list[Path]:
    """Without those of other splits, unless there are no others."""
    kept = [file for file in files if not _HELD_OUT.search(str(file.relative_to(folder)).lower())]
    left_out["files of other splits than train"] += len(files) - len(kept) if kept else 0
    return kept or list(files)

"""Energon index: the `.nv-meta` folder by which megatron-energon reads a shard folder (`energon prepare` makes it)."""

import contextlib
import io
from pathlib import Path

from data.files import write_atomic

_DATASET = "__module__: megatron.energon\n__class__: CrudeWebdataset\n"


def write_energon_index(folder: Path, shard_names: list[str]) -> None:
    """Index the tars `shard_names` of `folder` as one training split of raw samples."""
    from megatron.energon.flavors.webdataset.config import MAIN_FOLDER_NAME  # imported here: it takes seconds
    from megatron.energon.flavors.webdataset.prepare import WebdatasetPreparator

    split = [("train", 1.0), ("val", 0.0), ("test", 0.0)]
    with contextlib.redirect_stdout(io.StringIO()):
        WebdatasetPreparator.prepare_dataset(folder, shard_names, split_parts_ratio=split, shuffle_seed=None, workers=1)
    write_atomic(folder / MAIN_FOLDER_NAME / "dataset.yaml", _DATASET)

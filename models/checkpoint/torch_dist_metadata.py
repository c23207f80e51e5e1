"""`.metadata` of megatron-core's `torch_dist` checkpoints, a pickle: read so that it can name nothing but metadata."""

from pathlib import Path
from typing import Any

import torch

from common.errors import UserError
from models.checkpoint import safe_pickle
from models.checkpoint.safe_pickle import Ignored
from models.checkpoint.torch_archive import DTYPES

METADATA_FILE = ".metadata"
_DCP = "torch.distributed.checkpoint."


class Record:
    """An object of the metadata: its fields, nothing of its class."""

    dtype: torch.dtype

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, tuple):  # TensorProperties
            self.dtype = state[0]
        else:
            self.__dict__.update(state)


def read_metadata(folder: Path) -> Record:
    """What the checkpoint in `folder` holds, and where.

    Raises:
        UserError: it is missing, damaged, or asks for anything but metadata.
    """
    path = folder / METADATA_FILE
    try:
        found = safe_pickle.load(path.read_bytes(), _names())
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; this is no complete torch_dist checkpoint") from None
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    if not isinstance(found, Record):
        raise UserError(f"{path}: not the metadata of a torch_dist checkpoint")
    return found


def _names() -> safe_pickle.Names:
    records = ("MetadataIndex", "TensorStorageMetadata", "BytesStorageMetadata", "ChunkStorageMetadata", "Metadata")
    ignored = (
        *((f"{_DCP}metadata", name) for name in ("_MEM_FORMAT_ENCODING", "StorageMeta")),
        *((f"{_DCP}planner", name) for name in ("SavePlan", "WriteItem", "WriteItemType", "TensorWriteData")),
        *(("megatron.core.dist_checkpointing.strategies.torch", name) for name in ("MCoreMetadata", "MCoreSavePlan")),
        ("torch.serialization", "_get_layout"),
        ("pathlib", "PosixPath"),
    )
    return {
        **safe_pickle.PLAIN,
        **dict.fromkeys(ignored, Ignored),
        **{(f"{_DCP}metadata", name): Record for name in (*records, "TensorProperties")},
        (f"{_DCP}filesystem", "_StorageInfo"): Record,
        ("torch", "Size"): tuple,
        **{("torch", name): getattr(torch, name) for name in DTYPES},
    }

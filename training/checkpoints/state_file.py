"""Files of torch.save that hold plain state (counters, generators, small networks), read within bounds."""

import zipfile
from pathlib import Path
from typing import Any

import torch

from common.errors import UserError
from common.safe_pickle import ZIP_DAMAGE, check_opcodes, check_proportion
from common.shown.terminal import in_short

_LARGEST_PICKLE = 2**26
"""Bytes of all that is no tensor."""


def read_state(path: Path, what: str, device: torch.device | None = None) -> dict[str, Any]:
    """The state in `path`; `what` says in the error what it should have been.

    torch's own limited reader makes it, once its pickle is known to be in proportion to the file.

    Raises:
        UserError: no such file, a damaged or a packed one, or anything but a dict of plain data and tensors.
    """
    try:
        _check_pickle(path)
        state = torch.load(path, weights_only=True, map_location=device)
        check_proportion(state, path.stat().st_size)
    except (UserError, *ZIP_DAMAGE) as error:
        raise UserError(f"{path}: not {what} ({in_short(str(error))})") from None
    except Exception as error:  # torch.load raises what the file makes it raise
        raise UserError(f"{path}: not {what} ({type(error).__name__})") from None
    if not isinstance(state, dict):
        raise UserError(f"{path}: not {what} (it holds a {type(state).__name__})")
    return state


def _check_pickle(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        records = archive.infolist()
        if any(record.compress_type != zipfile.ZIP_STORED for record in records):
            raise UserError("it is compressed, which torch.save never does")
        pickled = [record for record in records if record.filename.rpartition("/")[2] == "data.pkl"]
        if len(pickled) != 1 or pickled[0].file_size > _LARGEST_PICKLE:
            raise UserError("no file of torch.save")
        check_opcodes(archive.read(pickled[0]))

"""Files that others packed (gzip, bzip2, Zstandard), by their first bytes, unpacked piece by piece."""

import bz2
import gzip
import io
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

from common.errors import UserError

ENDINGS = (".gz", ".bz2", ".zst")
DAMAGE = (OSError, EOFError, zlib.error)
"""What reading a damaged one raises."""


def is_packed(path: Path) -> bool:
    """`OSError` where there is no such file."""
    return _opener(path) is not None


def opened(path: Path) -> BinaryIO:
    """The file, or what it holds where it is packed.

    Raises:
        OSError: there is no such file.
        UserError: it cannot be unpacked here.
    """
    opener = _opener(path)
    return opener(path) if opener else open(path, "rb")


def _opener(path: Path) -> Callable[[Path], BinaryIO] | None:
    with open(path, "rb") as file:
        head = file.read(6)
    return next((opener for begin, opener in _OPENERS.items() if head.startswith(begin)), None)


def _zstandard(path: Path) -> BinaryIO:
    try:
        import pyarrow  # imported here: it takes a second
    except ModuleNotFoundError:
        raise UserError(f"{path}: packed with zstd; pip install pyarrow, or unpack it (zstd -d)") from None
    return cast("BinaryIO", io.BufferedReader(pyarrow.CompressedInputStream(pyarrow.OSFile(str(path)), "zstd")))


def _refused(path: Path) -> BinaryIO:
    raise UserError(f"{path}: packed with xz; unpack it (unxz) and give that")


_OPENERS: dict[bytes, Callable[[Path], BinaryIO]] = {
    b"\x1f\x8b": lambda path: cast("BinaryIO", gzip.GzipFile(path)),
    b"BZh": lambda path: cast("BinaryIO", bz2.BZ2File(path)),
    b"\x28\xb5\x2f\xfd": _zstandard,
    b"\xfd7zXZ\x00": _refused,
}

"""Bytes from file to file, by the system where it can do that without this process touching them."""

import collections
import dataclasses
import errno
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from common.errors import UserError
from models.checkpoint.row_moves import Move

_NUM_THREADS = 2
_PIECE_BYTES = 32 << 20
_BUFFER_BYTES = 1 << 20
_NOT_BETWEEN_THESE = {errno.EXDEV, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}
"""What the system says of file systems between which it cannot copy by itself."""


class Mover:
    """Performs moves on a few threads: the disk reads for one while another writes.

    A context manager; at its end all bytes are in their places.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_NUM_THREADS)
        self._pending: collections.deque[Future[None]] = collections.deque()

    def __enter__(self) -> "Mover":
        return self

    def move(self, some: Sequence[Move], descriptor: int, offset: int) -> None:
        """Put the bytes one after the other at `offset` of an open file, which must stay open until the end.

        Raises:
            UserError: a source of these or of earlier moves ends too early.
        """
        for piece in _pieces(some):
            if len(self._pending) >= 2 * _NUM_THREADS:
                self._pending.popleft().result()
            self._pending.append(self._pool.submit(_perform, piece, descriptor, offset))
            offset += piece.nbytes

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            while kind is None and self._pending:
                self._pending.popleft().result()
        finally:
            self._pool.shutdown(cancel_futures=True)


def _pieces(some: Sequence[Move]) -> Iterator[Move]:
    for move in some:
        for start in range(0, move.nbytes, _PIECE_BYTES):
            nbytes = min(_PIECE_BYTES, move.nbytes - start)
            yield dataclasses.replace(move, offset=move.offset + start, nbytes=nbytes)


def _perform(move: Move, descriptor: int, offset: int) -> None:
    if move.source is None:
        os.pwrite(descriptor, bytes(move.nbytes), offset)
        return
    source, position, left = os.open(move.source.path, os.O_RDONLY), move.source.offset + move.offset, move.nbytes
    try:
        while left:
            copied = _copy(source, position, descriptor, offset, left)
            if not copied:
                raise UserError(f"{move.source.path}: ends before one of its tensors does; the file is cut")
            left, position, offset = left - copied, position + copied, offset + copied
    finally:
        os.close(source)


def _copy(source: int, position: int, descriptor: int, offset: int, num_bytes: int) -> int:
    """Copy some of `num_bytes`; returns how many, 0 at the source's end."""
    try:
        return os.copy_file_range(source, descriptor, num_bytes, position, offset)
    except OSError as error:
        if error.errno not in _NOT_BETWEEN_THESE:
            raise
    return os.pwrite(descriptor, os.pread(source, min(num_bytes, _BUFFER_BYTES), position), offset)

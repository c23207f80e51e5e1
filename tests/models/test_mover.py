"""Bytes between files: in their places however they are cut, with and without the system's help."""

import errno
import os
from pathlib import Path

import pytest
import torch

from common.errors import UserError
from models.checkpoint import mover
from models.checkpoint.mover import Mover
from models.checkpoint.row_moves import Move
from models.checkpoint.stored_tensor import StoredTensor

CONTENT = bytes(range(256)) * 16


def stored(path: Path, offset: int, num_bytes: int) -> StoredTensor:
    return StoredTensor(path, offset, torch.uint8, (num_bytes,))


@pytest.mark.parametrize("between_file_systems", [False, True])
def test_every_byte_comes_to_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, between_file_systems: bool
) -> None:
    if between_file_systems:

        def refuse(*_: object) -> int:
            raise OSError(errno.EXDEV, "not between file systems")

        monkeypatch.setattr(os, "copy_file_range", refuse)
    monkeypatch.setattr(mover, "_PIECE_BYTES", 100)
    monkeypatch.setattr(mover, "_BUFFER_BYTES", 30)
    (tmp_path / "source").write_bytes(CONTENT)
    tensor = stored(tmp_path / "source", 10, 4000)
    some = [Move(tensor, 7, 1234), Move(None, 0, 250), Move(tensor, 0, 3)]
    with open(tmp_path / "target", "wb", buffering=0) as file:
        with Mover() as moving:
            moving.move(some, file.fileno(), 5)
            moving.move([Move(tensor, 3990, 10)], file.fileno(), 2000)
        file.write(b"first")  # the file's own position did not move
    expected = b"first" + CONTENT[17 : 17 + 1234] + bytes(250) + CONTENT[10:13]
    assert (tmp_path / "target").read_bytes() == expected.ljust(2000, b"\0") + CONTENT[4000:4010]


def test_a_source_that_is_cut_is_named(tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(CONTENT)
    cut = Move(stored(tmp_path / "source", 4090, 10), 0, 10)
    with (
        open(tmp_path / "target", "wb") as file,
        pytest.raises(UserError, match="source: ends before one of its tensors does"),
        Mover() as moving,
    ):
        moving.move([cut], file.fileno(), 0)

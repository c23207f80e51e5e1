"""Files of plain state: read as they were written, refused in one line as anything else."""

import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from common.errors import UserError
from tests.adversary.damage import damaged
from tests.adversary.refusals import refusal
from training.checkpoints.state_file import read_state

STATE = {"step": 3, "record": {"lr": 0.1}, "weights": {"0.bias": torch.arange(6.0)}, "generator": torch.get_rng_state()}


class Runs:
    def __reduce__(self) -> Any:
        return print, ("it ran",)


def packed(path: Path) -> None:
    """The zeros of a gigabyte, in a megabyte."""
    torch.save(STATE, path)
    with zipfile.ZipFile(path) as plain:
        content = {name: plain.read(name) for name in plain.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, record in content.items():
            archive.writestr(name, record)


OTHERS: dict[str, Callable[[Path], Any]] = {
    "a list": lambda path: torch.save([1], path),
    "one list in lists": lambda path: torch.save({"x": doubled(24)}, path),
    "code": lambda path: torch.save({"x": Runs()}, path),
    "compressed": packed,
    "a text": lambda path: path.write_text("{}"),
    "a folder": lambda path: path.mkdir(),
    "nothing": lambda path: None,
}


def doubled(times: int) -> list:
    inner: list = ["x"] * 10
    for _ in range(times):
        inner = [inner, inner]
    return inner


def test_a_state_reads_as_it_was_written(tmp_path: Path) -> None:
    torch.save(STATE, tmp_path / "state.pt")
    read = read_state(tmp_path / "state.pt", "a state")
    assert read["record"] == STATE["record"] and torch.equal(read["weights"]["0.bias"], torch.arange(6.0))


@pytest.mark.parametrize("kind", OTHERS)
def test_anything_else_is_one_line(tmp_path: Path, kind: str, capfd: pytest.CaptureFixture) -> None:
    OTHERS[kind](tmp_path / "state.pt")
    with pytest.raises(UserError, match=r"^[^\n]*state\.pt: not a state [^\n]*$"):
        read_state(tmp_path / "state.pt", "a state")
    assert "it ran" not in capfd.readouterr().out


def test_damage_is_one_line(tmp_path: Path) -> None:
    torch.save(STATE, tmp_path / "good.pt")
    good, path = (tmp_path / "good.pt").read_bytes(), tmp_path / "state.pt"
    for seed in range(100):
        path.write_bytes(damaged(good, random.Random(seed)))
        line = refusal(lambda: read_state(path, "a state"))
        assert not line or str(path) in line

"""Files of torch.save that grow: what they refer to again counts each time."""

import gzip
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
import torch

from common import safe_pickle
from common.errors import UserError
from common.safe_pickle import safe_unpickle
from tests.adversary.test_damaged_files import peak, reset_peak
from toolkits.readers.logs import agentlab
from toolkits.readers.reading.torch_file import read_torch_file

MIB = 2**20


def one_storage_many_tensors(path: Path) -> None:
    """5 MB of numbers, read from 200 places on."""
    storage = torch.zeros(5 * MIB // 4)
    torch.save([storage[number:] for number in range(200)], path)


def one_list_in_lists(path: Path) -> None:
    """Twelve levels of ten references each: whoever walks through it never ends."""
    inner: list = ["x"] * 10
    for _ in range(12):
        inner = [inner] * 10
    torch.save(inner, path)


def one_text_in_lists(path: Path) -> None:
    """140 kB of references to a text of 64 kB: gigabytes when they are written."""
    torch.save(["a" * 65536] * 60_000, path)


def one_tensor_many_times(path: Path) -> None:
    """4 MB of numbers, which a reader lists anew wherever they stand."""
    torch.save([{"reward": torch.zeros(MIB)}] * 50, path)


def one_array_many_times(path: Path) -> None:
    torch.save([numpy.zeros(MIB // 2)] * 50, path)


@pytest.mark.parametrize(
    "write",
    [one_storage_many_tensors, one_list_in_lists, one_text_in_lists, one_tensor_many_times, one_array_many_times],
)
def test_a_file_that_grows_is_refused_in_one_line(tmp_path: Path, write: Callable[[Path], None]) -> None:
    write(tmp_path / "grows.pt")
    with pytest.raises(UserError, match=r"grows\.pt.*over and over, beyond all proportion") as refused:
        read_torch_file(tmp_path / "grows.pt")
    assert "\n" not in str(refused.value)


def test_shared_weights_are_no_attack(tmp_path: Path) -> None:
    tied = torch.arange(1000.0)
    torch.save({"embedding": tied, "head": tied, "steps": [{"text": "same"}] * 100}, tmp_path / "honest.pt")
    found = read_torch_file(tmp_path / "honest.pt")
    assert found["embedding"].tolist() == found["head"].tolist() == tied.tolist() and len(found["steps"]) == 100


def test_a_file_of_tensors_is_larger_than_its_pickle(tmp_path: Path) -> None:
    torch.save({"features": torch.ones(20 * MIB)}, tmp_path / "honest.pt")
    assert read_torch_file(tmp_path / "honest.pt")["features"].sum() == 20 * MIB


STEPS = {
    "sets": b"(" + b"\x8f" * 2**21 + b"e.",
    "frozen sets": b"(" + b"(\x91" * 2**21 + b"e.",
    "dicts": b"(" + b"}" * 2**21 + b"e.",
    "lists": b"(" + b"]" * 2**21 + b"e.",
    "tuples": b"N" + b"\x85" * 2**21 + b"a.",
    "ordered dicts": b"(ccollections\nOrderedDict\nq\x01)R" + b"h\x01)R" * 2**20 + b"e.",
}


@pytest.mark.parametrize("name", STEPS)
def test_empty_things_are_bounded_too(tmp_path: Path, name: str) -> None:
    """A byte makes a set, which takes 216 of memory: a file of 4 MB became a gigabyte."""
    with zipfile.ZipFile(tmp_path / "empty.pt", "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x04]" + STEPS[name])
    before = reset_peak()
    with pytest.raises(UserError, match=r"empty\.pt.*beyond all proportion"):
        read_torch_file(tmp_path / "empty.pt")
    assert peak() - before < 100 * MIB


def test_a_packed_pickle_is_bounded_by_the_file_it_came_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """83 kB became 450 MB, and took a minute."""
    monkeypatch.setattr(safe_pickle, "_FREE_BYTES", MIB)
    (tmp_path / "step_0.pkl.gz").write_bytes(gzip.compress(b"\x80\x04](" + b"N" * 2_000_000 + b"e.", 1))
    with pytest.raises(UserError, match=r"step_0\.pkl\.gz.*makes more than its file can hold"):
        agentlab._unpickled(tmp_path / "step_0.pkl.gz")


def test_opcodes_are_bounded() -> None:
    with pytest.raises(UserError, match="refused"):
        safe_unpickle(pickle.PROTO + b"\x02" + pickle.EMPTY_LIST * 2000 + b".", max_opcodes=1000)


def test_a_number_that_cannot_be_written_down_is_refused(tmp_path: Path) -> None:
    torch.save([2**4095, -(2**100)], tmp_path / "honest.pt")
    assert read_torch_file(tmp_path / "honest.pt") == [2**4095, -(2**100)]
    torch.save([{"reward": -(2**20_000)}], tmp_path / "huge.pt")
    with pytest.raises(UserError, match=r"huge\.pt: refused: the pickle holds a number of 20001 bits"):
        read_torch_file(tmp_path / "huge.pt")


def test_a_packed_file_is_refused(tmp_path: Path) -> None:
    torch.save([1], tmp_path / "plain.pt")
    with (
        zipfile.ZipFile(tmp_path / "plain.pt") as plain,
        zipfile.ZipFile(tmp_path / "packed.pt", "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for name in plain.namelist():
            packed.writestr(name, plain.read(name))
    with pytest.raises(UserError, match=r"packed\.pt"):
        read_torch_file(tmp_path / "packed.pt")

"""Damaged and hostile checkpoints: one clear error that names the file, nothing run, nothing left behind."""

import io
import json
import os
import pickle
import random
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from common.errors import UserError
from models.checkpoint.torch_archive import read_archive
from tests.toolkits.checkpoints import build_idefics2, convert, read_hf, same


class Bomb:
    """Runs a command when it is unpickled by anything that trusts it."""

    def __init__(self, target: Path, how: Callable = os.system) -> None:
        self.target, self.how = target, how

    def __reduce__(self) -> tuple[Callable, tuple]:
        command = f"touch {self.target}"
        return (self.how, (command,)) if self.how is not subprocess.run else (self.how, (["touch", str(self.target)],))


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One checkpoint in every format, by the direction that reads it and its name."""
    folder = tmp_path_factory.mktemp("good")
    tensors = build_idefics2(folder / "hf")
    convert("hf2mg", folder / "hf", folder / "torch_dist")
    convert("hf2mg", folder / "hf", folder / "legacy", format="legacy", target_tensor_model_parallel_size=2)
    convert("mg2hf", folder / "torch_dist", folder / "sharded", max_shard_size_gb=0.0001)
    for name in ("bin", "sharded_bin"):
        shutil.copytree(folder / "hf", folder / name)
        (folder / name / "model.safetensors").unlink()
    torch.save(tensors, folder / "bin" / "pytorch_model.bin")
    names = list(tensors)
    halves = {"pytorch_model-00001-of-00002.bin": names[::2], "pytorch_model-00002-of-00002.bin": names[1::2]}
    for file, part in halves.items():
        torch.save({name: tensors[name] for name in part}, folder / "sharded_bin" / file)
    index = {"weight_map": {name: file for file, part in halves.items() for name in part}}
    (folder / "sharded_bin" / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    return {path.name: path for path in folder.iterdir()}


def direction(name: str) -> str:
    return "mg2hf" if name in ("torch_dist", "legacy") else "hf2mg"


def test_every_format_is_read_when_nothing_is_wrong(good: dict[str, Path], tmp_path: Path) -> None:
    expected = load_file(good["hf"] / "model.safetensors")
    for name in ("sharded", "bin", "sharded_bin"):
        convert("hf2mg", good[name], tmp_path / name)
        convert("mg2hf", tmp_path / name, tmp_path / f"{name}-back")
        assert same(read_hf(tmp_path / f"{name}-back"), expected)


def files_of(folder: Path) -> list[Path]:
    """Those with weights or names of weights."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    kept = (".safetensors", ".bin", ".pt", ".distcp", ".metadata", "index.json", "config.json")
    return [path for path in files if path.name.endswith(kept) and path.name != "common.pt"]


def damage(rng: random.Random, path: Path, marker: Path) -> str:
    """Spoil one file in one of many ways; says how."""
    content = path.read_bytes()
    kind = rng.choice(["cut", "empty", "bits", "bomb", "nested bomb", "swap", "grow", "header", "words"])
    if kind == "cut":
        content = content[: rng.randrange(len(content))]
    elif kind == "empty":
        content = b""
    elif kind == "bits":
        head = bytearray(content)
        for _ in range(rng.randrange(1, 20)):
            head[rng.randrange(min(len(head), 4000))] ^= 1 << rng.randrange(8)
        content = bytes(head)
    elif kind == "bomb":
        content = pickle.dumps(Bomb(marker, rng.choice([os.system, subprocess.run, eval])))
    elif kind == "nested bomb":
        file = io.BytesIO()
        torch.save({"model": {"x": Bomb(marker)}, "x": Bomb(marker), "y": torch.zeros(2)}, file)
        content = file.getvalue()
    elif kind == "swap":
        content = content[len(content) // 2 :] + content[: len(content) // 2]
    elif kind == "grow":
        content += b"\0" * rng.randrange(1, 5000)
    elif kind == "header":
        sizes = [0, 1, 7, 2**31, 2**63, len(content)]
        content = rng.choice(sizes).to_bytes(8, "little") + content[8:]
    elif kind == "words":
        old, new = rng.choice([(b"weight", b"height"), (b"shape", b"shade"), (b"64", b"99"), (b"data", b"date")])
        content = content.replace(old, new, rng.randrange(1, 40))
    path.write_bytes(content)
    return kind


@pytest.mark.parametrize("num_cases", [80, pytest.param(500, marks=pytest.mark.slow)])
def test_no_damage_gets_through(good: dict[str, Path], tmp_path: Path, num_cases: int) -> None:
    marker, refused = tmp_path / "pwned", 0
    expected = load_file(good["hf"] / "model.safetensors")
    for case in range(num_cases):
        rng = random.Random(case)
        name = rng.choice(["hf", "sharded", "bin", "sharded_bin", "torch_dist", "legacy"])
        folder = shutil.copytree(good[name], tmp_path / "input", copy_function=os.link)
        path = rng.choice(files_of(folder))
        shutil.copyfile(path, tmp_path / "own")  # the others stay links
        (tmp_path / "own").replace(path)
        how = f"case {case}: {damage(rng, path, marker)} of {name}/{path.name}"
        try:
            convert(direction(name), folder, tmp_path / "out")
        except UserError as error:
            refused += 1
            text = str(error)
            assert "\n" not in text and (str(folder) in text or "model." in text), f"{how}: {text}"
            assert not (tmp_path / "out").exists(), how
        else:
            if direction(name) == "mg2hf":
                assert read_hf(tmp_path / "out").keys() == expected.keys(), how
            shutil.rmtree(tmp_path / "out")
        assert not marker.exists(), how
        assert {item.name for item in tmp_path.iterdir()} == {"input"}, how
        shutil.rmtree(folder)
    assert refused > num_cases * 0.8


_STORAGE = b"(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0" + b"0X\x03\0\0\0cpuK\x04tQ"
_TENSOR = b"ctorch._utils\n_rebuild_tensor_v2\n(%bK\0K\x04\x85K\x01\x85\x89}tR"


def state(**fields: object) -> bytes:
    """The opcodes that overwrite fields of the object before them."""
    return pickle.dumps(fields, protocol=2)[2:-1] + b"b"


@pytest.mark.parametrize(
    "pickled",
    [
        _TENSOR % (_STORAGE + state(path="/etc/passwd", offset=0)),
        _TENSOR % _STORAGE + state(path="/etc/passwd", offset=0),
        _TENSOR % (b"ctypes\nSimpleNamespace\n)R" + state(path="/etc/passwd", offset=0, num_bytes=99, dtype=None)),
        b"ctorch._utils\n_rebuild_tensor_v2\n" + state(note="left in the reader for every later file"),
    ],
    ids=["a changed storage", "a changed tensor", "a look-alike", "a changed reader"],
)
def test_a_tensor_lies_in_its_own_file(tmp_path: Path, pickled: bytes) -> None:
    def archive(name: str, content: bytes) -> Path:
        with zipfile.ZipFile(tmp_path / name, "w") as file:
            file.writestr("archive/data.pkl", b"\x80\x02" + content + b".")
            file.writestr("archive/data/0", bytes(16))
        return tmp_path / name

    honest = archive("honest", _TENSOR % _STORAGE)
    assert read_archive(honest).read().tolist() == [0, 0, 0, 0]
    with pytest.raises(UserError, match="refused"):
        read_archive(archive("hostile", pickled))


def test_a_tensor_is_no_larger_than_its_file(tmp_path: Path) -> None:
    """The archive's directory claims 2 GB for 16 bytes; one number, repeated by a stride of 0, would fill them."""
    file = tmp_path / "claims"
    shape = b"(J\x00\x00\x00\x0eK\x01t"  # 234,881,024 x 1
    stored = _STORAGE.replace(b"K\x04tQ", b"J\x00\x00\x00\x0etQ")
    pickled = b"ctorch._utils\n_rebuild_tensor_v2\n(" + stored + b"K\0" + shape + b"(K\0K\0t\x89}tR"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02" + pickled + b".")
        archive.writestr("archive/data/0", bytes(16))
        archive.getinfo("archive/data/0").file_size = 2_000_000_000
    with pytest.raises(UserError, match="end after the file"):
        read_archive(file)


@pytest.mark.parametrize("size", [(-1, 4), (2**62, 2**62), (2**70,), ("a",)])
def test_an_impossible_shape_is_one_line(good: dict[str, Path], tmp_path: Path, size: tuple) -> None:
    folder = shutil.copytree(good["torch_dist"], tmp_path / "input")
    path = next(folder.rglob(".metadata"))
    metadata = pickle.loads(path.read_bytes())
    next(entry for entry in metadata.state_dict_metadata.values() if hasattr(entry, "chunks")).size = size
    path.write_bytes(pickle.dumps(metadata))
    with pytest.raises(UserError, match="not the metadata of a torch_dist checkpoint"):
        convert("mg2hf", folder, tmp_path / "out")


@pytest.mark.parametrize("name", ["../other.distcp", "/etc/passwd", "..", "", "a\0b"])
def test_a_chunk_lies_in_its_own_folder(good: dict[str, Path], tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(good["torch_dist"], tmp_path / "input")
    path = next(folder.rglob(".metadata"))
    metadata = pickle.loads(path.read_bytes())
    for place in metadata.storage_data.values():
        place.relative_path = name
    path.write_bytes(pickle.dumps(metadata))
    with pytest.raises(UserError, match="impossible place"):
        convert("mg2hf", folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("file", ["model.safetensors.index.json", "pytorch_model.bin.index.json"])
def test_an_index_leads_nowhere_else(good: dict[str, Path], tmp_path: Path, file: str) -> None:
    folder = shutil.copytree(good["hf"], tmp_path / "input")
    secret = shutil.copyfile(folder / "model.safetensors", tmp_path / "secret.safetensors")
    (folder / "model.safetensors").unlink()
    (folder / file).write_text(json.dumps({"weight_map": {"lm_head.weight": f"../{secret.name}"}}))
    with pytest.raises(UserError, match="which is not in this folder"):
        convert("hf2mg", folder, tmp_path / "out")


def test_a_full_disk_is_seen_before(good: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = shutil.disk_usage(tmp_path)._replace(free=10**6)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
    for name in ("hf", "torch_dist"):
        with pytest.raises(UserError, match=r"needs 0\.1 GB, but only 0\.0 GB are free; nothing was written"):
            convert(direction(name), good[name], tmp_path / "out")
    assert list(tmp_path.iterdir()) == []

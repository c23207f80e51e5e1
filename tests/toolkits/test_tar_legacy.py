"""OpenWebVoyager's pickled tars: whatever they hold, reading one runs nothing and fails in one line; those that we
write are what its trainer reads."""

import ast
import io
import json
import os
import pickle
import pickletools
import tarfile
from pathlib import Path
from typing import Any

import pytest
import webdataset
from PIL import Image

from common.errors import UserError
from common.safe_pickle import refuse, safe_unpickle
from data.legacy import LegacyWriter, read_legacy_tar, unpickle_images
from data.shard import Sample
from tests.toolkits.test_tar_data import pack, write_trajectories
from tests.toolkits.trajectories import screenshot

TURNS = repr([{"from": "human", "value": "<image>"}, {"from": "gpt", "value": "Thought: a"}])
IMAGES = pickle.dumps([io.BytesIO(screenshot(1))])


def write_tar(path: Path, **members: bytes | str) -> Path:
    with tarfile.open(path, "w") as tar:
        for extension, content in members.items():
            encoded = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(f"Shop--00001--r01--step01.{extension}")
            info.size = len(encoded)
            tar.addfile(info, io.BytesIO(encoded))
    return path


def test_a_good_one(tmp_path: Path) -> None:
    (sample,) = read_legacy_tar(write_tar(tmp_path / "a.tar", conversations=TURNS, input_image=IMAGES))
    assert sample.images == [screenshot(1)]


def as_the_published_trainer(folder: Path) -> list[tuple[str, list[dict[str, str]], list[Image.Image]]]:
    """Every sample as OpenWebVoyager's `mm_pretrain_dataset.py` makes it of a folder: it finds the tars by
    `shardlist.json`, unpickles the images and opens each, evaluates the conversations, calls the speakers user and
    assistant, and refuses turns that do not alternate or `<image>` marks that are not as many as the images. Here the
    pickle may name `_io.BytesIO` only, and the conversations must be a literal.
    """
    found = []
    for entry in json.loads((folder / "shardlist.json").read_text()):
        samples = list(webdataset.WebDataset(str(folder / entry["url"]), shardshuffle=False))
        assert len(samples) == entry["nsamples"]
        for sample in samples:
            assert {name for name in sample if not name.startswith("__")} == {"input_image", "conversations"}
            files = safe_unpickle(
                sample["input_image"], lambda *name: io.BytesIO if name == ("_io", "BytesIO") else refuse(*name)
            )
            turns = ast.literal_eval(sample["conversations"].decode("utf-8"))
            roles = [{"human": "user", "gpt": "assistant"}[turn["from"]] for turn in turns]
            assert roles == ["user", "assistant"] * (len(turns) // 2)
            marks = sum(turn["value"].count("<image>") for turn in turns if turn["from"] == "human")
            assert marks == len(files)
            found.append((sample["__key__"], turns, [Image.open(file).convert("RGB") for file in files]))
    return found


def test_the_published_trainer_reads_what_legacy_writes(tmp_path: Path) -> None:
    part = write_trajectories(tmp_path, count=3)
    samples = pack(tmp_path / "shards", part, legacy=True, max_samples_per_shard=10)
    folder = tmp_path / "shards" / "legacy"
    listed = json.loads((folder / "shardlist.json").read_text())
    assert listed == [{"url": f"openwebvoyager-00000{n}.tar", "nsamples": count} for n, count in enumerate((10, 5))]
    read = as_the_published_trainer(folder)
    assert [(key, turns) for key, turns, _ in read] == [(sample.key, sample.conversations) for sample in samples]
    for (_, _, images), sample in zip(read, samples, strict=True):
        ours = [Image.open(io.BytesIO(image)).convert("RGB") for image in sample.images]
        assert [image.tobytes() for image in images] == [image.tobytes() for image in ours]
    ours = [sample for entry in listed for sample in read_legacy_tar(folder / entry["url"])]
    assert [(s.id, s.conversations, s.images) for s in ours] == [(s.id, s.conversations, s.images) for s in samples]


def test_what_legacy_writes_names_nothing_but_files_in_memory(tmp_path: Path) -> None:
    """Its readers run what a tar says, so even hostile samples become plain data."""
    turns = [
        {"from": "human", "value": "<image> ']; __import__('os') #", "x": Runs},
        {"from": "gpt", "value": "\ud800"},
    ]
    writer = LegacyWriter(tmp_path / "a.tar")
    writer.add(Sample("a.b", turns, [screenshot(1)], {"weight": Runs}))
    with pytest.raises(UserError, match="neither PNG, JPEG nor WebP"):
        writer.add(Sample("b", turns, [b"no image"]))
    for key in ("b" * 87, "é"):
        with pytest.raises(UserError, match="reads ids of up to 86 ASCII characters"):
            writer.add(Sample(key, turns, [screenshot(1)]))
    writer.close()
    with tarfile.open(tmp_path / "a.tar") as tar:
        members = {member.name: tar.extractfile(member).read() for member in tar}
    assert list(members) == ["a_b.conversations", "a_b.input_image"]
    called = [argument for code, argument, _ in pickletools.genops(members["a_b.input_image"]) if "GLOBAL" in code.name]
    texts = [argument for _, argument, _ in pickletools.genops(members["a_b.input_image"]) if isinstance(argument, str)]
    assert len(called) == 1 and texts == ["_io", "BytesIO"]
    assert ast.literal_eval(members["a_b.conversations"].decode()) == [
        {"from": turn["from"], "value": turn["value"]} for turn in turns
    ]


class Runs:
    """Calls `function(argument)` when unpickled freely."""

    def __init__(self, function: Any, argument: str):
        self.call = function, (argument,)

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("function", [os.system, os.mkdir, exec, eval, __import__, io.open])
def test_pickles_run_nothing(tmp_path: Path, function: Any) -> None:
    mark = tmp_path / "pwned"
    argument = {os.system: f"touch {mark}", os.mkdir: str(mark)}.get(function, f"open({str(mark)!r}, 'w')")
    for payload in ([Runs(function, argument)], Runs(function, argument), {"x": Runs(function, argument)}):
        content = pickle.dumps(payload)
        with pytest.raises(UserError, match="refused: the pickle asks for"):
            list(read_legacy_tar(write_tar(tmp_path / "a.tar", conversations=TURNS, input_image=content)))
        with pytest.raises(UserError, match="refused: the pickle asks for"):
            unpickle_images(content)
    assert not mark.exists()


def test_old_protocols_and_dotted_names_are_no_way_around(tmp_path: Path) -> None:
    """Names such as `PIL.Image` `__loader__.exec` or plugins that are none."""
    for module, name in [
        ("PIL.Image", "os.system"),
        ("PIL.PngImagePlugin", "os.system.ImageFile"),
        ("PIL.Image", "open"),
        ("_io", "open"),
        ("builtins", "getattr"),
    ]:
        content = f"c{module}\n{name}\n(S'touch {tmp_path / 'pwned'}'\ntR.".encode()
        with pytest.raises(UserError):
            unpickle_images(content)
    assert not (tmp_path / "pwned").exists()


BAD = {
    "a call for turns": {"conversations": "__import__('os').getcwd()", "input_image": IMAGES},
    "an unhashable key": {"conversations": "[{[]: 1}]", "input_image": IMAGES},
    "deep nesting": {"conversations": "[" * 100_000, "input_image": IMAGES},
    "not text": {"conversations": b"\xff\xfe", "input_image": IMAGES},
    "turns that are none": {"conversations": "[1, 2]", "input_image": IMAGES},
    "turns without a value": {"conversations": "[{'from': 'human'}]", "input_image": IMAGES},
    "turns that are a number": {"conversations": "3", "input_image": IMAGES},
    "a broken pickle": {"conversations": TURNS, "input_image": IMAGES[:-20]},
    "no images": {"conversations": TURNS, "input_image": pickle.dumps([1])},
    "half a sample": {"conversations": TURNS},
    "another member": {"conversations": TURNS, "exe": b"x"},
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_broken_is_named_in_one_line(tmp_path: Path, case: str) -> None:
    with pytest.raises(UserError) as caught:
        list(read_legacy_tar(write_tar(tmp_path / "a.tar", **BAD[case])))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"not a tar at all" * 100])
def test_not_a_tar(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.tar").write_bytes(content)
    with pytest.raises(UserError, match=r"a\.tar"):
        list(read_legacy_tar(tmp_path / "a.tar"))
    with pytest.raises(UserError, match="no such file"):
        list(read_legacy_tar(tmp_path / "b.tar"))

"""OpenWebVoyager's pickled tars: whatever they hold, reading one runs nothing and fails in one line; those that we
write are what its trainer reads."""

import ast
import io
import json
import pickletools
import tarfile
from pathlib import Path

import pytest
import webdataset
from PIL import Image

from common.errors import UserError
from common.safe_pickle import refuse, safe_unpickle
from data.shards.legacy import LegacyWriter, read_legacy_tar
from data.shards.shard import Sample
from tests.toolkits.test_tar_data import pack, write_trajectories
from tests.toolkits.trajectories import screenshot


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
        {"from": "human", "value": "<image> ']; __import__('os') #", "x": exec},
        {"from": "gpt", "value": "\ud800"},
    ]
    writer = LegacyWriter(tmp_path / "a.tar")
    writer.add(Sample("a.b", turns, [screenshot(1)], {"weight": exec}))
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

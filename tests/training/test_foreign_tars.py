"""Training over tars that others made is training over our shards of the same samples."""

import json
from pathlib import Path

import pytest

from data.shards.shard import Sample
from tests import tiny
from tests.toolkits.interchange import shards
from tests.toolkits.test_webdataset_tars import write
from tests.training.conftest import train
from training.launch.foreign_tars import shards_to_read


def foreign(folder: Path, samples: list[Sample]) -> Path:
    """Two tars of them, in no order of ours."""
    folder.mkdir()
    for number in range(2):
        members: dict[str, bytes] = {}
        for sample in reversed(samples[number::2]):
            told = {"id": sample.id, "conversations": sample.conversations}
            members[f"x/{sample.key}.json"] = json.dumps(told).encode()
            members |= {f"x/{sample.key}.{place}.PNG": image for place, image in enumerate(sample.read_images())}
        write(folder / f"theirs-{number}.tar", members)
    return folder


def own(folder: Path, samples: list[Sample]) -> Path:
    """As convert_to_tar_data.py packs them."""
    (folder / "images").mkdir(parents=True)
    records = []
    for sample in samples:
        names = [f"{sample.id}.{place}.png" for place in range(len(sample.images))]
        for name, image in zip(names, sample.read_images(), strict=True):
            (folder / "images" / name).write_bytes(image)
        records.append({"id": sample.id, "images": names, "conversations": sample.conversations})
    (folder / "samples.json").write_text(json.dumps(records))
    shards(folder / "samples.json", folder / "images", folder / "shards")
    return folder / "shards"


@pytest.mark.slow
def test_the_losses_are_equal_to_the_bit(megatron: Path, tmp_path: Path) -> None:
    samples = [tiny.sample(index, num_steps=1 + index % 3) for index in range(12)]
    losses = [
        train("", made, megatron, tmp_path / name, tp=1, global_batch_size=4, train_iters=3, save_interval=3)
        for name, made in (("a", foreign(tmp_path / "theirs", samples)), ("b", own(tmp_path / "ours", samples)))
    ]
    assert len(losses[0]) == 3 and losses[0] == losses[1]


def test_damaged_tars_end_the_launcher_with_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tar = foreign(tmp_path / "theirs", [tiny.sample(0), tiny.sample(1)]) / "theirs-1.tar"
    tar.write_bytes(tar.read_bytes()[:700])
    with pytest.raises(SystemExit) as ended:
        shards_to_read(tmp_path / "theirs")
    told = capfd.readouterr()
    assert ended.value.code == 2 and not told.out
    assert told.err.startswith(f"error: {tar}: ") and len(told.err.splitlines()) == 1

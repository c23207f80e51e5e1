"""convert_to_tar_data.py: mixed, shuffled, reproducible shards that energon reads, and never half a folder."""

import base64
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

from data.errors import UserError
from data.legacy import read_legacy_tar
from data.shard import Sample, read_manifest, read_shard
from tests.toolkits.trajectories import screenshot
from toolkits.convert_to_tar_data import Config, main

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "toolkits" / "convert_to_tar_data.py"


def write_samples(folder: Path, name: str, count: int) -> tuple[Path, Path]:
    """(JSON file, image folder) with `count` samples of two images, the first shared between neighbours."""
    images = folder / f"images-{name}"
    images.mkdir(parents=True)
    for number in range(count + 1):
        (images / f"{name}--{number}.png").write_bytes(screenshot(number))
    records = [
        {
            "id": f"{name}--{number:05d}--r01--step01",
            "images": [f"{name}--{number}.png", f"{name}--{number + 1}.png"],
            "conversations": [
                {"from": "human", "value": f"Find {number}.\nOBSERVATION:\n<image>\n<image>\n[1] link 'é'"},
                {"from": "gpt", "value": "Thought: t.\n\nAction: Click [1]"},
            ],
        }
        for number in range(count)
    ]
    (folder / f"{name}.json").write_text(json.dumps(records))
    return folder / f"{name}.json", images


def pack(out: Path, *parts: tuple[Path, Path], **options: Any) -> list[Sample]:
    files, folders = zip(*parts, strict=True)
    main(Config(tuple(map(str, files)), tuple(map(str, folders)), str(out), **options))
    return [sample for shard in read_manifest(out, verify=True)["shards"] for sample in read_shard(out / shard["url"])]


def test_several_files_are_mixed_and_nothing_is_lost(tmp_path: Path) -> None:
    il, optim = write_samples(tmp_path, "il", 7), write_samples(tmp_path, "optim.1", 5)
    samples = pack(tmp_path / "shards", il, optim, max_samples_per_shard=5)
    assert len(samples) == 12
    assert [shard["nsamples"] for shard in read_manifest(tmp_path / "shards")["shards"]] == [5, 5, 2]
    assert json.loads((tmp_path / "shards" / "shardlist.json").read_text())[2]["nsamples"] == 2
    records = {r["id"]: r for file, _ in (il, optim) for r in json.loads(file.read_text())}
    for sample in samples:
        record, folder = records[sample.id], (il if sample.id.startswith("il") else optim)[1]
        assert sample.conversations == record["conversations"]
        assert sample.images == [(folder / name).read_bytes() for name in record["images"]]
    ids = [sample.id for sample in samples]
    assert ids != sorted(ids)
    assert len({id.split("--")[0] for id in ids[:5]}) == 2, "the first shard holds samples of one file only"


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    il, optim = write_samples(tmp_path, "il", 7), write_samples(tmp_path, "optim", 5)
    pack(tmp_path / "a", il, optim)
    pack(tmp_path / "b", optim, il)
    pack(tmp_path / "c", il, optim, seed=5)
    a, b, c = ((tmp_path / name / "elcano-000000.tar").read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_energon_reads_every_sample(tmp_path: Path) -> None:
    """In a process of its own: energon starts threads that a test should not inherit."""
    pack(tmp_path / "shards", write_samples(tmp_path, "il", 7), max_samples_per_shard=3)
    code = f"""
import json
import zlib
from data.shard import parse_fields, sample_images
from megatron.energon import Cooker, DefaultTaskEncoder, Sample, WorkerConfig, basic_sample_keys, cooker, edataclass
from megatron.energon import get_loader, get_train_dataset, stateless

@edataclass
class Turn(Sample):
    id: str
    images: list[int]

@stateless
@cooker(need_primary=True)
def cook(raw, primary):
    fields = parse_fields(raw["__key__"], raw["json"])
    own = {{name: content for name, content in raw.items() if name.endswith("png")}}
    images = sample_images(raw["__key__"], fields, own, primary.get)
    return Turn(**basic_sample_keys(raw), id=fields["id"], images=[zlib.crc32(image) for image in images])

class Encoder(DefaultTaskEncoder):
    cookers = [Cooker(cook)]
    decoder = None
    def batch(self, samples):
        return samples

worker = WorkerConfig(rank=0, world_size=1, num_workers=0)
dataset = get_train_dataset({str(tmp_path / "shards")!r}, worker_config=worker, batch_size=1, shuffle_buffer_size=None,
                            max_samples_per_sequence=None, task_encoder=Encoder(), repeat=False)
print(json.dumps([[sample.id, sample.images] for batch in get_loader(dataset) for sample in batch]))
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    read = json.loads(result.stdout.strip().splitlines()[-1])
    sums = [zlib.crc32(screenshot(number)) for number in range(8)]
    assert sorted(read) == [[f"il--{number:05d}--r01--step01", [sums[number], sums[number + 1]]] for number in range(7)]


def test_the_index_is_the_one_that_energon_makes(tmp_path: Path) -> None:
    """Written without energon; `energon prepare` on the same tars gives the same tables, offsets and counts."""
    pack(tmp_path / "shards", write_samples(tmp_path, "il.x", 7), max_samples_per_shard=3)
    shutil.copytree(tmp_path / "shards", tmp_path / "prepared", ignore=shutil.ignore_patterns(".nv-meta", "*.idx"))
    code = """
import sys
from pathlib import Path
from megatron.energon.flavors.webdataset.prepare import WebdatasetPreparator
names = sorted(path.name for path in Path(sys.argv[1]).glob("*.tar"))
split = [("train", 1.0), ("val", 0.0), ("test", 0.0)]
WebdatasetPreparator.prepare_dataset(Path(sys.argv[1]), names, split_parts_ratio=split, shuffle_seed=None, workers=1)
"""
    subprocess.run([sys.executable, "-c", code, tmp_path / "prepared"], check=True, capture_output=True, timeout=120)
    ours, theirs = (index_of(tmp_path / name) for name in ("shards", "prepared"))
    assert ours == theirs


def index_of(folder: Path) -> dict[str, Any]:
    """What energon reads of a folder's index."""
    with contextlib.closing(sqlite3.connect(folder / ".nv-meta" / "index.sqlite")) as database:
        tables = {
            name: (
                database.execute(f"SELECT * FROM {name} ORDER BY tar_file_id, sample_index").fetchall(),
                [column[:4] for column in database.execute(f"PRAGMA table_info({name})")],
                sorted(row[1] for row in database.execute(f"PRAGMA index_list({name})")),
            )
            for name in ("samples", "sample_parts")
        }
    offsets = {path.name: path.read_bytes() for path in folder.glob("*.idx")}
    return {"tables": tables, "offsets": offsets, "info": json.loads((folder / ".nv-meta" / ".info.json").read_text())}


def test_a_missing_image_names_sample_and_file_and_writes_nothing(tmp_path: Path) -> None:
    file, images = write_samples(tmp_path, "il", 3)
    (images / "il--2.png").unlink()
    with pytest.raises(UserError, match=r"sample il--00001--r01--step01: its image il--2\.png is in none of"):
        pack(tmp_path / "shards", (file, images))
    assert {path.name for path in tmp_path.iterdir()} == {"il.json", "images-il"}


def test_a_broken_image_leaves_nothing_behind(tmp_path: Path) -> None:
    file, images = write_samples(tmp_path, "il", 3)
    (images / "il--2.png").write_bytes(b"not an image")
    with pytest.raises(UserError, match=r"il--2\.png: an image is neither PNG"):
        pack(tmp_path / "shards", (file, images))
    assert {path.name for path in tmp_path.iterdir()} == {"il.json", "images-il"}


def test_wrong_mark_counts_are_refused(tmp_path: Path) -> None:
    file, images = write_samples(tmp_path, "il", 3)
    records = json.loads(file.read_text())
    records[1]["images"].pop()
    file.write_text(json.dumps(records))
    with pytest.raises(UserError, match="il--00001--r01--step01: 2 <image> marks but 1 images"):
        pack(tmp_path / "shards", (file, images))


BAD_RECORDS = {
    "[]": "no samples",
    "{}": "not a list",
    "[1]": "sample 1: needs id, images and conversations",
    '[{"id": "a/b", "images": [], "conversations": []}]': "not a plain name",
    '[{"id": "a", "images": [], "conversations": [{"from": "gpt", "value": "x"}]}]': "turns must alternate",
    '[{"id": "a", "images": [], "conversations": "x"}]': "must be lists",
    "[": "not valid JSON",
}


@pytest.mark.parametrize("content", BAD_RECORDS)
def test_bad_sample_files_are_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(UserError, match=BAD_RECORDS[content]):
        pack(tmp_path / "shards", (tmp_path / "x.json", tmp_path))


def test_the_same_sample_twice_is_refused(tmp_path: Path) -> None:
    part = write_samples(tmp_path, "il", 3)
    with pytest.raises(UserError, match="occurs twice"):
        pack(tmp_path / "shards", part, part)


def test_another_folder_is_not_overwritten_but_old_shards_are_replaced(tmp_path: Path) -> None:
    part = write_samples(tmp_path, "il", 3)
    with pytest.raises(UserError, match="something else than a shard folder"):
        pack(part[1], part)
    pack(tmp_path / "shards", part, max_samples_per_shard=1)
    pack(tmp_path / "shards", part)
    assert len(list((tmp_path / "shards").glob("*.tar"))) == 1


def test_a_killed_run_leaves_no_shard_folder(tmp_path: Path) -> None:
    """Killed while it writes; the next run cleans up and completes."""
    file, images = write_samples(tmp_path, "il", 300)
    big = base64.b64decode("iVBORw0KGgo=") + os.urandom(200_000)
    for path in images.iterdir():
        path.write_bytes(big)
    flags = ["--json_files", str(file), "--image_dirs", str(images), "--save_dir", str(tmp_path / "shards")]
    command = [sys.executable, str(SCRIPT), *flags]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=environment)
    temporary = tmp_path / ".shards.tmp"
    while not list(temporary.glob("*.tar")):
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "shards").exists()
    subprocess.run(command, env=environment, check=True, timeout=120)
    assert read_manifest(tmp_path / "shards", verify=True)["num_samples"] == 300
    assert not temporary.exists()


def test_the_released_tar_and_ours_hold_the_same(tmp_path: Path, fixtures: Path) -> None:
    files = (fixtures / "json" / "example.json", fixtures / "images")
    ours = {sample.id: sample for sample in pack(tmp_path / "shards", files)}
    released = list(read_legacy_tar(fixtures / "tar" / "openwebvoyager-000000.tar"))
    assert len(released) == len(ours) == 4
    for sample in released:
        assert (sample.conversations, sample.images) == (ours[sample.id].conversations, ours[sample.id].images)


def test_errors_are_one_line_on_the_command_line(tmp_path: Path) -> None:
    flags = ["--json_files", str(tmp_path / "none.json"), "--image_dirs", ".", "--save_dir", str(tmp_path / "x")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run([sys.executable, str(SCRIPT), *flags], env=environment, capture_output=True, text=True)
    assert result.returncode == 2
    assert result.stderr.strip() == f"error: {tmp_path / 'none.json'}: no such file"

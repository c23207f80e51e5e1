"""convert_to_tar_data.py: mixed, shuffled, reproducible shards that energon reads, and never half a folder."""

import contextlib
import itertools
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from PIL import Image
from pyarrow import parquet

from common.errors import UserError
from data.shards.legacy import read_legacy_tar
from data.shards.shard import Sample, read_manifest, read_shard, task_of
from data.shards.tar import scan
from tests.toolkits.trajectories import screenshot
from toolkits.convert_to_tar_data import Config, main

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "toolkits" / "convert_to_tar_data.py"


def write_samples(folder: Path, name: str, count: int, apart: int = 1) -> tuple[Path, Path]:
    """(JSON file, image folder) with `count` samples of two images; neighbors share one, unless they are 2 `apart`."""
    images = folder / f"images-{name}"
    images.mkdir(parents=True)
    for number in range(apart * count + 1):
        (images / f"{name}--{number}.png").write_bytes(screenshot(number))
    records = [
        {
            "id": f"{name}--{number:05d}--r01--step01",
            "images": [f"{name}--{apart * number}.png", f"{name}--{apart * number + 1}.png"],
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
    il, optim = write_samples(tmp_path, "il", 7, apart=2), write_samples(tmp_path, "optim.1", 5, apart=2)
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


def write_trajectories(folder: Path, count: int, num_steps: int = 5, last_n: int = 3) -> tuple[Path, Path]:
    """(JSON file, image folder) as of `count` trajectories of `num_steps` steps, all screenshots different."""
    images = folder / "images"
    images.mkdir(parents=True)
    records = []
    for trajectory, step in itertools.product(range(count), range(1, num_steps + 1)):
        name = f"Shop--{trajectory:05d}--r01--step"
        (images / f"{name}{step:02d}.png").write_bytes(screenshot(step, trajectory))
        shown = [f"{name}{number:02d}.png" for number in range(max(1, step - last_n + 1), step + 1)]
        turns = [{"from": "human", "value": "<image>" * len(shown)}, {"from": "gpt", "value": "Thought"}]
        records.append({"id": f"{name}{step:02d}", "images": shown, "conversations": turns, "weight": step / 2})
    (folder / "samples.json").write_text(json.dumps(records))
    return folder / "samples.json", images


def test_samples_of_weight_0_are_left_out_of_training(tmp_path: Path) -> None:
    """Not those that count in a denominator, nor what is held out, of which nobody made columns."""
    file, images = write_trajectories(tmp_path, count=8, num_steps=2)
    ids = [record["id"] for record in json.loads(file.read_text())]
    options = {"validation_fraction": 0.3}
    pack(tmp_path / "whole", (file, images), **options)
    held_out = {sample.id for tar in (tmp_path / "whole").glob("elcano-val*.tar") for sample in read_shard(tar)}
    trained = [identifier for identifier in ids if identifier not in held_out]
    assert held_out and len(trained) > 3
    columns = {"id": trained, "weight": [float(n == 0) for n in range(len(trained))]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "weight.parquet")
    kept = {s.id for s in pack(tmp_path / "kept", (file, images), weights=str(tmp_path / "weight.parquet"), **options)}
    assert kept == held_out | {trained[0]}
    columns["share"] = [float(n < 3) for n in range(len(trained))]
    parquet.write_table(pyarrow.table(columns), tmp_path / "share.parquet")
    kept = {s.id for s in pack(tmp_path / "kept", (file, images), weights=str(tmp_path / "share.parquet"), **options)}
    assert kept == held_out | set(trained[:3])
    for name, values, complaint in (
        ("weight", [0.0] * len(trained), "every sample has the weight 0; nothing to train on"),
        ("share", [1.0] * len(trained), "has no column weight"),
    ):
        parquet.write_table(pyarrow.table({"id": trained, name: values}), tmp_path / "bad.parquet")
        with pytest.raises(UserError, match=complaint):
            pack(tmp_path / "kept", (file, images), weights=str(tmp_path / "bad.parquet"), **options)
    assert {sample.id for tar in (tmp_path / "kept").glob("*.tar") for sample in read_shard(tar)} == kept


@pytest.mark.parametrize("share_images", [False, True])
def test_a_trajectory_stays_in_one_shard_and_can_store_its_screenshots_once(tmp_path: Path, share_images: bool) -> None:
    file, images = write_trajectories(tmp_path, count=6)
    options = {"max_samples_per_shard": 12, "share_images": share_images}
    samples = {sample.id: sample for sample in pack(tmp_path / "shards", (file, images), **options)}
    assert read_manifest(tmp_path / "shards")["share_images"] is share_images
    shards = [{s.id for s in read_shard(path)} for path in sorted((tmp_path / "shards").glob("*.tar"))]
    assert [len(ids) for ids in shards] == [10, 10, 10]
    assert all(len({task_of(sample) for sample in ids}) == 2 for ids in shards)
    for record in json.loads(file.read_text()):
        sample = samples[record["id"]]
        assert sample.images == [(images / name).read_bytes() for name in record["images"]]
        assert sample.extra == {"weight": record["weight"]}
    num_stored = sum(member.name.endswith("png") for tar in (tmp_path / "shards").glob("*.tar") for member in scan(tar))
    assert num_stored == (30 if share_images else 6 * (1 + 2 + 3 + 3 + 3))


def test_sharing_images_changes_neither_samples_nor_their_order(tmp_path: Path) -> None:
    part = write_trajectories(tmp_path, count=6)
    own, shared = (
        pack(tmp_path / f"shards{share}", part, max_samples_per_shard=12, share_images=share) for share in (False, True)
    )
    assert own == shared


def test_whole_tasks_are_held_out_whatever_the_seed(tmp_path: Path) -> None:
    part = write_trajectories(tmp_path, count=20)
    held_out = []
    for seed in (1, 2):
        out = tmp_path / f"shards{seed}"
        samples = pack(out, part, validation_fraction=0.3, seed=seed)
        manifest = read_manifest(out, verify=True)
        by_split = {entry.get("split"): list(read_shard(out / entry["url"])) for entry in manifest["shards"]}
        tasks = {split: {task_of(sample.id) for sample in part} for split, part in by_split.items()}
        assert not tasks[None] & tasks["val"] and 2 <= len(tasks["val"]) <= 12
        assert manifest["num_samples"] == len(by_split[None])
        assert manifest["num_samples"] + manifest["num_validation_samples"] == len(samples) == 100
        assert "  val:\n  - elcano-val-000000.tar\n" in (out / ".nv-meta" / "split.yaml").read_text()
        assert len(json.loads((out / "shardlist.json").read_text())) == 1
        held_out.append(tasks["val"])
    assert held_out[0] == held_out[1]
    with pytest.raises(UserError, match="at least 0 and below 1"):
        pack(tmp_path / "x", part, validation_fraction=1.0)
    with pytest.raises(UserError, match="holds out every sample"):
        pack(tmp_path / "x", part, validation_fraction=1 - 1e-12)


def test_whole_sample_files_are_held_out(tmp_path: Path) -> None:
    train, held_out = write_samples(tmp_path, "il", 4), write_samples(tmp_path, "test", 3)
    folders = (str(train[1]), str(held_out[1]))
    main(Config((str(train[0]),), folders, str(tmp_path / "shards"), validation_files=(str(held_out[0]),)))
    manifest = read_manifest(tmp_path / "shards", verify=True)
    assert (manifest["num_samples"], manifest["num_validation_samples"]) == (4, 3)
    [last] = [entry["url"] for entry in manifest["shards"] if entry.get("split") == "val"]
    assert all(sample.id.startswith("test--") for sample in read_shard(tmp_path / "shards" / last))


def test_many_processes_write_the_same_as_one(tmp_path: Path) -> None:
    part = write_trajectories(tmp_path, count=20)
    pack(tmp_path / "one", part, max_samples_per_shard=10, num_workers=1)
    pack(tmp_path / "three", part, max_samples_per_shard=10, num_workers=3)
    one, three = (
        {
            path.name: path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file() and path.name != "index.sqlite"
        }
        for name in ("one", "three")
    )
    assert one == three


def test_published_folders_are_found(tmp_path: Path) -> None:
    """`--abs_path` is the variable of the published script, run in a stage's folder."""
    file, images = write_trajectories(tmp_path / "made", count=2)
    stage = tmp_path / "stage1_Imitation_Learning"
    (stage / "IL_json_data" / "webvoyager").mkdir(parents=True)
    shutil.copy(file, stage / "IL_json_data" / "webvoyager" / "example.json")
    shutil.copytree(images, tmp_path / "OpenWebVoyager_image_data" / "webvoyager_images_IL")
    main(Config(abs_path=str(stage)))
    assert read_manifest(stage / "IL_tar_data")["num_samples"] == 10
    with pytest.raises(UserError, match="json_data"):
        main(Config(abs_path=str(images)))
    with pytest.raises(UserError, match="--json_files is missing"):
        main(Config())


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    il, optim = write_samples(tmp_path, "il", 7), write_samples(tmp_path, "optim", 5)
    pack(tmp_path / "a", il, optim)
    pack(tmp_path / "b", optim, il)
    pack(tmp_path / "c", il, optim, seed=5)
    a, b, c = ((tmp_path / name / "elcano-000000.tar").read_bytes() for name in "abc")
    assert a == b
    assert a != c


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
    subprocess.run([sys.executable, "-c", code, tmp_path / "prepared"], check=True, capture_output=True, timeout=280)
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


@pytest.mark.parametrize(("share_images", "legacy"), [(False, False), (True, False), (False, True)])
def test_a_disk_that_is_too_small_is_said_before_anything_is_written(
    tmp_path: Path, share_images: bool, legacy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what the shards really take, within a tenth: headers and paddings count much with images this small."""
    file, images = write_trajectories(tmp_path, count=6)
    for path in images.iterdir():
        path.write_bytes(path.read_bytes() + bytes(50_000))
    options = {"share_images": share_images, "legacy": legacy}
    pack(tmp_path / "shards", (file, images), **options)
    num_bytes = sum(path.stat().st_size for path in (tmp_path / "shards").rglob("*.tar"))
    usage = shutil.disk_usage(tmp_path)
    for free, fits in ((0.9 * num_bytes, False), (1.1 * num_bytes, True)):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: usage._replace(free=int(free)))
        with contextlib.nullcontext() if fits else pytest.raises(UserError, match="GB are needed"):
            pack(tmp_path / f"again-{fits}", (file, images), **options)
    assert not (tmp_path / "again-False").exists()


def test_a_killed_run_leaves_no_shard_folder(tmp_path: Path) -> None:
    """Killed while it writes; the next run cleans up and completes."""
    file, images = write_samples(tmp_path, "il", 300)
    for path in images.iterdir():
        Image.frombytes("RGB", (256, 256), os.urandom(3 * 256 * 256)).save(path, compress_level=0)
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
    subprocess.run(command, env=environment, check=True, timeout=280)
    assert read_manifest(tmp_path / "shards", verify=True)["num_samples"] == 300
    assert not temporary.exists()


def test_a_killed_run_goes_on_with_the_shards_that_it_has(tmp_path: Path) -> None:
    part = write_trajectories(tmp_path, count=12)
    out, temporary = tmp_path / "shards", tmp_path / ".shards.tmp"
    pack(tmp_path / "whole", part, max_samples_per_shard=10)
    killed_after(2, out, part)
    before = {path.name: path.stat().st_mtime_ns for path in temporary.glob("*.tar")}
    assert not out.exists() and len(before) == 3, "the third was begun"
    pack(out, part, max_samples_per_shard=10)
    kept = [path.name for path in out.glob("*.tar") if before.get(path.name) == path.stat().st_mtime_ns]
    assert len(kept) == 2
    for path in (tmp_path / "whole").glob("*.tar"):
        assert (out / path.name).read_bytes() == path.read_bytes()
    killed_after(2, tmp_path / "torn", part)
    cut, unmarked = sorted((tmp_path / ".torn.tmp").glob("*.tar"))[:2]
    os.truncate(cut, 512)
    os.truncate(tmp_path / ".torn.tmp" / ".done" / f"{unmarked.name}.json", 3)
    pack(tmp_path / "torn", part, max_samples_per_shard=10)  # verifies the checksums
    killed_after(2, tmp_path / "listed", part)
    for members in (tmp_path / ".listed.tmp" / ".done").glob("*.members"):
        os.truncate(members, 3)
    pack(tmp_path / "listed", part, max_samples_per_shard=10)
    for index in (tmp_path / "whole").glob("*.idx"):
        assert (tmp_path / "listed" / index.name).read_bytes() == index.read_bytes()
    killed_after(2, tmp_path / "x", part)
    (part[1] / "Shop--00000--r01--step01.png").write_bytes(screenshot(9, 9))
    pack(tmp_path / "x", part, max_samples_per_shard=10)
    assert screenshot(9, 9) in {
        image for tar in (tmp_path / "x").glob("*.tar") for s in read_shard(tar) for image in s.images
    }


def killed_after(num_shards: int, out: Path, part: tuple[Path, Path]) -> None:
    """A conversion in a process of its own that kills itself as it begins to write another shard."""
    code = f"""
import os, signal, sys
from data.shards.shard import ShardWriter
from toolkits import convert_to_tar_data as tool
close, closed = ShardWriter.close, []
def counted(self):
    if len(closed) == {num_shards}:
        os.kill(os.getpid(), signal.SIGKILL)
    closed.append(self)
    return close(self)
ShardWriter.close = counted
tool.main(tool.Config(({str(part[0])!r},), ({str(part[1])!r},), {str(out)!r}, max_samples_per_shard=10, num_workers=1))
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=280)
    assert result.returncode == -signal.SIGKILL, result.stderr


def test_the_released_tar_and_ours_hold_the_same(tmp_path: Path, field_files: Path) -> None:
    files = (field_files / "json" / "example.json", field_files / "images")
    ours = {sample.id: sample for sample in pack(tmp_path / "shards", files)}
    released = list(read_legacy_tar(field_files / "tar" / "openwebvoyager-000000.tar"))
    assert len(released) == len(ours) == len(json.loads(files[0].read_text()))
    for sample in released:
        assert (sample.conversations, sample.images) == (ours[sample.id].conversations, ours[sample.id].images)


def test_errors_are_one_line_on_the_command_line(tmp_path: Path) -> None:
    flags = ["--json_files", str(tmp_path / "none.json"), "--image_dirs", ".", "--save_dir", str(tmp_path / "x")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run([sys.executable, str(SCRIPT), *flags], env=environment, capture_output=True, text=True)
    assert result.returncode == 2
    assert result.stderr.strip() == f"error: {tmp_path / 'none.json'}: no such file"

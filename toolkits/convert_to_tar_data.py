"""Pack training samples into shuffled webdataset shards that training reads.

    python toolkits/convert_to_tar_data.py --json_files data/json/il.json data/json/optim1.json \
        --image_dirs data/images/il data/images/optim1 --save_dir data/shards/optim1

Several JSON files are mixed into one data set (D_IL with D_1, ...). The folder holds `elcano-%06d.tar`,
`manifest.json`, `shardlist.json` and energon's `.nv-meta`; it appears in one move when all of it is written. The same
input and seed give the same tars.
"""

import dataclasses
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from data import cli
from data.errors import UserError
from data.files import read_json
from data.shard import Sample, image_type, write_shards
from toolkits.energon_index import write_energon_index


@dataclasses.dataclass(frozen=True)
class Config:
    """Pack training samples into shuffled webdataset shards."""

    json_files: tuple[str, ...]
    """Sample files made by convert_trajectories_to_json.py; all are mixed."""
    image_dirs: tuple[str, ...]
    """Folders of their screenshots, searched in this order."""
    save_dir: str
    """The shard folder to make; an older shard folder in its place is replaced."""
    max_samples_per_shard: int = 500
    """A new tar begins after this many samples."""
    seed: int = 1234
    """Seed of the shuffle."""


def main(config: Config) -> None:
    """Read, check, shuffle, write beside the target, rename."""
    if config.max_samples_per_shard < 1:
        raise UserError(f"--max_samples_per_shard is {config.max_samples_per_shard}; give at least 1")
    target = Path(config.save_dir)
    check_target(target)
    records = read_records([Path(file) for file in config.json_files])
    located = locate_images(records, [Path(folder) for folder in config.image_dirs])
    random.Random(config.seed).shuffle(located)

    temporary = target.with_name(f".{target.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)  # what a killed run left
    temporary.mkdir(parents=True)
    try:
        source = {"json_files": list(config.json_files), "seed": config.seed}
        manifest = write_shards(temporary, load(located), config.max_samples_per_shard, source)
        write_energon_index(temporary, [shard["url"] for shard in manifest["shards"]])
        replace_folder(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    print(f"{target}: {manifest['num_samples']} samples in {len(manifest['shards'])} shards")


def check_target(target: Path) -> None:
    """Only a shard folder, an empty folder or nothing may be in the way."""
    if target.exists() and not (target / "manifest.json").exists() and (target.is_file() or any(target.iterdir())):
        raise UserError(f"--save_dir {target}: something else than a shard folder is there; give another folder")


def read_records(files: list[Path]) -> list[dict[str, Any]]:
    """The samples of all files, sorted by id, so that the order of the files does not matter."""
    records: dict[str, dict[str, Any]] = {}
    for file in files:
        content = read_json(file)
        if not isinstance(content, list):
            raise UserError(f"{file}: not a list of samples")
        for number, record in enumerate(content, start=1):
            check_record(f"{file}: sample {number}", record)
            if record["id"] in records:
                raise UserError(f"{file}: sample {record['id']} occurs twice; give each round its own --round_id")
            records[record["id"]] = record
    if not records:
        raise UserError(f"{', '.join(map(str, files))}: no samples; nothing to train on")
    return [records[key] for key in sorted(records)]


def check_record(where: str, record: Any) -> None:
    """Raises `UserError` unless `record` is {"id", "images", "conversations"} with alternating human and gpt turns."""
    if not isinstance(record, dict) or not {"id", "images", "conversations"} <= record.keys():
        raise UserError(f"{where}: needs id, images and conversations")
    if not isinstance(record["id"], str) or "/" in record["id"]:
        raise UserError(f"{where}: its id {record['id']!r} is not a plain name")
    if not isinstance(record["conversations"], list) or not isinstance(record["images"], list):
        raise UserError(f"{where} ({record['id']}): images and conversations must be lists")
    senders = [turn.get("from") if isinstance(turn, dict) else None for turn in record["conversations"]]
    if not senders or len(senders) % 2 or senders != ["human", "gpt"] * (len(senders) // 2):
        raise UserError(f"{where} ({record['id']}): turns must alternate human, gpt; they are {senders}")


def locate_images(records: list[dict[str, Any]], folders: list[Path]) -> list[tuple[dict[str, Any], list[Path]]]:
    """(record, paths of its images), each looked up once by name; nothing is read yet."""
    known: dict[str, Path] = {}
    for folder in reversed(folders):
        if not folder.is_dir():
            raise UserError(f"--image_dirs {folder}: no such folder")
        known.update({entry.name: folder / entry.name for entry in os.scandir(folder)})
    located = []
    for record in records:
        for name in record["images"]:
            if name not in known:
                raise UserError(f"sample {record['id']}: its image {name} is in none of {', '.join(map(str, folders))}")
        located.append((record, [known[name] for name in record["images"]]))
    return located


def load(located: list[tuple[dict[str, Any], list[Path]]]) -> Iterator[Sample]:
    """The samples with their images' bytes, one at a time."""
    for record, paths in located:
        images = [path.read_bytes() for path in paths]
        for path, image in zip(paths, images, strict=True):
            try:
                image_type(image)
            except UserError as error:
                raise UserError(f"sample {record['id']}: {path}: {error}") from None
        yield Sample(record["id"], record["conversations"], images)


def replace_folder(temporary: Path, target: Path) -> None:
    """Move `temporary` to `target`; what was there is removed only after it was moved aside."""
    aside = target.with_name(f".{target.name}.old")
    shutil.rmtree(aside, ignore_errors=True)
    if target.exists():
        target.rename(aside)
    temporary.rename(target)
    shutil.rmtree(aside, ignore_errors=True)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)

"""Samples one by one of whatever the toolkit reads: our shards, sample files and trajectories, others' tars, and every
format of import_data.py. What has to become a file for that is gone once its sample was looked at.
"""

import dataclasses
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_json
from data.action_spaces import action_space
from data.samples.turn_samples import image_name, samples_of
from data.shards.foreign_tars import is_foreign
from data.shards.legacy import read_legacy_tar
from data.shards.shard import RESERVED, Sample, read_manifest, read_shard, task_of
from data.shards.tar import list_tars
from data.task import site_name
from data.trajectory import is_complete, list_trajectories, read_trajectory
from toolkits.readers.detect import detect
from toolkits.readers.formats import FORMATS, OF_OTHERS, Format
from toolkits.readers.logs.released_tar import is_released
from toolkits.readers.reading.ends_of_paths import ends_told
from toolkits.readers.reading.folders import Tries
from toolkits.readers.reading.ids import Ids
from toolkits.readers.reading.left_out import LeftOut
from toolkits.readers.reading.stream import stream_records
from toolkits.readers.research.episode_folders import Losses, write_episode
from toolkits.readers.research.episode_samples import episode_samples
from toolkits.shards.sample_records import ImageFolders, check_record

TRAIN, VALIDATION = "train", "val"
_VIEW = "images"
_OWN = ("shards", "samples", "trajectories")
_SITES = ("site", "app", "website", "domain", "web", "url")


@dataclasses.dataclass(frozen=True)
class Source:
    """Where samples come from. `image_dir` None: the folder that `path` is in. `action_space`: of demonstrations;
    `last_n`: screenshots that a sample made of a trajectory's step shows."""

    path: Path
    format: str = "auto"
    image_dir: Path | None = None
    action_space: str = ""
    round_id: int = 1
    last_n: int = 3


@dataclasses.dataclass(frozen=True)
class Opened:
    """A sample of a source, the split that it is of, the site or app where it was done ("": nothing says so), and its
    task where its id does not say it."""

    sample: Sample
    split: str = TRAIN
    site: str = ""
    task: str = ""


def kind_of(source: Source) -> str:
    """`shards`, `samples`, `trajectories`, `tars` (of others, to be converted first), or the name of a format;
    `UserError` where nothing shows it."""
    path = source.path
    if source.format != "auto":
        if source.format not in (*_OWN, *FORMATS):
            raise UserError(f"format {source.format!r}: no such format; known are {', '.join((*_OWN, *FORMATS))}")
        return source.format
    if path.is_dir() and ((path / "manifest.json").exists() or (path / "shardlist.json").exists()):
        return "shards"
    if path.is_dir() and next(_trajectory_folders(path), None):
        return "trajectories"
    if path.is_dir() and list_tars(path):
        return "tars" if is_foreign(path) else "shards"  # above shards there is no manifest, which is said
    if path.suffix in (".json", ".jsonl") and path.is_file():
        first = next((value for _, value in stream_records(path) if value), None)
        if isinstance(first, dict) and _is_sample(first):
            return "samples"
    if path.is_dir() and not any(path.iterdir()):
        raise UserError(f"{path}: not a shard folder, nor anything else: it is empty")
    return detect(path)


def _is_sample(record: Mapping[str, Any]) -> bool:
    """As our sample files begin. LLaVA's have the same fields; where they have numbers as ids, or turns of a system,
    they are read as its."""
    turns = record.get("conversations")
    senders = [turn.get("from") for turn in turns if isinstance(turn, dict)] if isinstance(turns, list) else []
    is_ours = isinstance(record.get("id"), str) and {*map(str, senders)} <= {"human", "gpt"}
    return is_ours and {"id", "images", "conversations"} <= record.keys()


def is_own(source: Source) -> bool:
    """Whether its samples have ids as we give them."""
    return kind_of(source) in _OWN


def names_task(kind: str, sample: Sample) -> bool:
    """Whether the id of a sample of a source of this kind says a task that other sources call the same. Readers of
    episodes and logs count tasks from 1 in every file, and most sample files of others count samples."""
    found = FORMATS.get(kind)
    return found is None or (found.samples is not None and task_of(sample.id) != sample.id)


def open_samples(source: Source, scratch: Path) -> Iterator[Opened]:
    """Its samples, in an order that is always the same; `scratch` is an empty folder for what must be a file meanwhile.

    Raises:
        UserError: naming file and sample.
    """
    with ends_told(scratch / _VIEW):
        yield from _opened_samples(source, scratch)


def _opened_samples(source: Source, scratch: Path) -> Iterator[Opened]:
    kind = kind_of(source)
    if kind in ("shards", "tars"):
        return _of_shards(source.path)
    if kind == "samples":
        return _of_sample_file(source)
    if kind == "trajectories":
        return _of_trajectories(source, _trajectory_folders(source.path), LeftOut())
    found = FORMATS[kind]
    if found.episodes:
        return _of_episodes(kind, found, source, scratch)
    if found.samples:
        return _of_records(kind, found, source, scratch)
    return _of_foreign_trajectories(found, source, scratch)


def list_shards(folder: Path, verify: bool) -> list[tuple[Path, int, str]]:
    """(tar, number of samples, split) of ours, or of OpenWebVoyager's when there is a `shardlist.json` only."""
    if (folder / "manifest.json").exists() or not (folder / "shardlist.json").exists():
        entries = read_manifest(folder, verify)["shards"]
    else:
        entries = read_json(folder / "shardlist.json")
    try:
        found = [(folder / Path(one["url"]).name, int(one["nsamples"]), one.get("split", TRAIN)) for one in entries]
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise UserError(f"{folder}: its list of shards is damaged ({error!r})") from None
    return sorted(found, key=lambda shard: shard[2] != TRAIN)  # what is held out comes last


def _of_shards(folder: Path) -> Iterator[Opened]:
    for path, _, split in list_shards(folder, verify=False):
        for sample in (read_legacy_tar if is_released(path) else read_shard)(path):
            yield Opened(sample, split, site_of(sample))


def _of_sample_file(source: Source) -> Iterator[Opened]:
    images = ImageFolders([_image_dir(source)], "image_dir")
    for number, (_, record) in enumerate(stream_records(source.path), start=1):
        check_record(f"{source.path}: sample {number}", record)
        found = images.find(f"{source.path}: sample {record['id']}", record["images"])
        yield _opened(record, [Path(path) for path in found])


def _of_trajectories(source: Source, folders: Iterator[Path], left_out: LeftOut) -> Iterator[Opened]:
    for folder in folders:
        if not is_complete(folder):
            left_out["trajectories that are not complete"] += 1
            continue
        trajectory = read_trajectory(folder)
        pairs = samples_of(trajectory, source.round_id, source.last_n)
        screenshots = {image_name(record["id"]): screenshot for record, screenshot in pairs}
        for record, _ in pairs:
            yield _opened(record, [screenshots[name] for name in record["images"]])
    left_out.tell(source.path)


def _of_records(kind: str, found: Format, source: Source, scratch: Path) -> Iterator[Opened]:
    assert found.samples
    image_dir = _seen_from(_image_dir(source), scratch)
    records = found.samples(source.path, image_dir, source.round_id)
    return _from_view(Ids().once(records) if kind in OF_OTHERS else records, image_dir)


def _from_view(records: Iterator[dict[str, Any]], view: Path) -> Iterator[Opened]:
    """What a reader wrote into the view is removed; the next sample writes what it shares anew."""
    for record in records:
        check_record("sample", record)
        paths = [view / name for name in record["images"]]
        yield _opened(record, paths)
        for path in paths:
            if not (view / path.relative_to(view).parts[0]).is_symlink():
                path.unlink(missing_ok=True)


def _of_episodes(name: str, found: Format, source: Source, scratch: Path) -> Iterator[Opened]:
    """An episode of one step is a sample, where import_data.py makes it one; any other a trajectory meanwhile."""
    assert found.episodes
    space, losses, tries = action_space(source.action_space or found.episodes.space), Losses(), Tries()
    image_dir, folders = _seen_from(_image_dir(source), scratch), scratch / "trajectories"
    for number, episode in enumerate(found.episodes.episodes([source.path], image_dir), start=1):
        if found.episodes.has_single_steps and len(episode.steps) == 1:
            one = episode_samples(name, iter([episode]), space, image_dir, source.round_id, losses, number)
            yield from _from_view(one, image_dir)
        else:
            folders.mkdir()
            write_episode(name, episode, space, folders, tries, losses)
            yield from _of_trajectories(source, _trajectory_folders(folders), LeftOut())
            shutil.rmtree(folders)
    losses.tell(source.path)


def _of_foreign_trajectories(found: Format, source: Source, scratch: Path) -> Iterator[Opened]:
    """They are written first, all of them: their readers know no other way."""
    assert found.trajectories
    folders = scratch / "trajectories"
    folders.mkdir()
    found.trajectories(source.path, _seen_from(_image_dir(source), scratch), folders, Tries())
    yield from _of_trajectories(source, _trajectory_folders(folders), LeftOut())


def _opened(record: Mapping[str, Any], images: list[Path]) -> Opened:
    extra = {name: value for name, value in record.items() if name not in RESERVED}
    sample = Sample(record["id"], record["conversations"], images, extra)
    return Opened(sample, site=site_of(sample))


def site_of(sample: Sample) -> str:
    """The site or app that a field of it names; else what its id begins with, as WebVoyager's tasks are called."""
    for name in _SITES:
        if isinstance(value := sample.extra.get(name), str) and value:
            return site_name(value)
    return task_of(sample.id).partition("--")[0]


def _trajectory_folders(path: Path) -> Iterator[Path]:
    """The one that `path` is, or those in it; a `trajectory.json` alone is ATIF's."""
    marks = ("steps.jsonl", "interact_messages.json")
    found = [path] if any((path / mark).exists() for mark in marks) else list_trajectories(path)
    return (folder for folder in found if any((folder / mark).exists() for mark in marks))


def _image_dir(source: Source) -> Path:
    if source.image_dir is None:
        return source.path if source.path.is_dir() else source.path.parent
    if not source.image_dir.is_dir():
        raise UserError(f"{source.image_dir}: no such folder of images")
    return source.image_dir


def _seen_from(image_dir: Path, scratch: Path) -> Path:
    """A folder below `scratch`, by its whole path, that shows what `image_dir` holds. Readers write images there, which
    the user's folder is spared."""
    view = Path(scratch / _VIEW, *image_dir.resolve().parts[1:])
    view.mkdir(parents=True)
    for entry in os.scandir(image_dir):
        (view / entry.name).symlink_to(Path(entry.path).resolve())
    return view

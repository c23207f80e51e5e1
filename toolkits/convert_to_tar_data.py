"""Pack training samples into shuffled webdataset shards that training reads.

    python toolkits/convert_to_tar_data.py --json_files data/json/il.json data/json/optim1.json \\
        --image_dirs data/images/il data/images/optim1 --save_dir data/shards/optim1

Several JSON files are mixed into one data set (D_IL with D_1, ...); `--abs_path stage1_Imitation_Learning` finds files
and folders where OpenWebVoyager's stages keep them. The folder holds `elcano-%06d.tar`, `manifest.json`,
`shardlist.json` and energon's `.nv-meta`; it appears in one move when all of it is written, and a killed run goes on
with the shards that it has. The same input and seed give the same tars.
"""

import contextlib
import dataclasses
import functools
import gc
import hashlib
import json
import os
import shutil
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from runpy import run_path
from typing import Annotated, Any

try:
    from common import cli
except ModuleNotFoundError as missing:  # not the python of the virtual environment
    sys.exit(run_path(str(Path(__file__).resolve().parents[1] / "common" / "not_installed.py"))["say"](missing))

from common.errors import UserError
from common.files import read_json, write_json
from common.full_disk import writing_to
from common.options.limits import Checked, Limit, at_least
from common.parallel import run_parallel
from common.seeds import draw
from data.samples.whole_trajectory import EARLIER
from data.shards.shard import Sample, ShardWriter, task_of, write_manifest
from data.shards.tar import Member, scan
from toolkits.shards.energon_index import write_energon_index
from toolkits.shards.sample_records import FiledSample, read_samples
from toolkits.shards.shard_plan import plan_shards

_DONE = ".done"  # one entry of the manifest for each finished shard; a run goes on by them
_LEGACY = "legacy"


_SHARE = Limit("at least 0 and below 1", lambda share: 0 <= share < 1)


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Pack training samples into shuffled webdataset shards."""

    json_files: tuple[str, ...] = ()
    """Sample files made by convert_trajectories_to_json.py or import_data.py; all are mixed."""
    image_dirs: tuple[str, ...] = ()
    """Folders of their screenshots, searched in this order."""
    save_dir: str = ""
    """The shard folder to make; an older shard folder in its place is replaced."""
    max_samples_per_shard: Annotated[int, at_least(1)] = 500
    """A new tar begins after this many samples."""
    seed: int = 1234
    """Seed of the shuffle."""
    validation_files: tuple[str, ...] = ()
    """Sample files whose samples are all held out; their screenshots are searched in `image_dirs`, too."""
    validation_fraction: Annotated[float, _SHARE] = 0.0
    """Hold out this part of the tasks, whatever the seed, in shards of their own."""
    weights: str = ""
    """A file of columns that training/make_columns.sh made of these samples: what weighs 0 is left out of training."""
    candidates: str = ""
    """A file that collection/sample_candidates.py made of these samples: each candidate becomes a sample of its own."""
    share_images: bool = False
    """Store a screenshot that several samples of a tar show once, for a third to a half of the bytes. Elcano reads such
    tars whole; readers that take each sample by its key (plain webdataset, plain energon) miss images."""
    legacy: bool = False
    """Also write the shards that OpenWebVoyager's own trainer reads into `legacy/`."""
    abs_path: str = ""
    """A stage folder of OpenWebVoyager: gives `*_json_data/*/*.json`, `../OpenWebVoyager_image_data/*` and
    `*_tar_data` for what is not given above."""
    num_workers: Annotated[int, at_least(0)] = 0
    """Processes; 0: one per CPU."""


@dataclasses.dataclass(frozen=True)
class Shard:
    """A tar to write: of `samples` those in `chosen`, by number, in this order. Packed numbers, as other processes that
    look at objects copy the memory in which these are."""

    name: str
    samples: Sequence[Sample]
    chosen: "array[int]"
    held_out: bool = False

    def __iter__(self) -> Iterator[Sample]:
        return (self.samples[number] for number in self.chosen)


def main(config: Config) -> None:
    """Pack, then say what was written."""
    config = with_published_paths(config)
    manifest = pack(config)
    shards = manifest["shards"]
    num_bytes = sum(entry["bytes"] for entry in shards)
    held_out = f" and {manifest['num_validation_samples']} held out" if "num_validation_samples" in manifest else ""
    told = f"{manifest['num_samples']} samples{held_out} in {len(shards)} shards, {num_bytes / 1e6:.1f} MB"
    print(f"{Path(config.save_dir)}: {told}")


def pack(config: Config, source: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Read, check, shuffle, write beside the target, rename; returns the manifest, which says `source` of where the
    samples are from, or the names of their files."""
    check(config)
    target = Path(config.save_dir)
    target.parent.mkdir(parents=True, exist_ok=True)
    files = [Path(file) for file in (*config.json_files, *config.validation_files)]
    samples: Sequence[Sample] = read_samples(files, [Path(folder) for folder in config.image_dirs], target.parent)
    if (config.candidates or config.legacy) and (whole := next((s.id for s in samples if EARLIER in s.extra), None)):
        flag = "--candidates" if config.candidates else "--legacy"
        raise UserError(f"{flag}: sample {whole} is a whole trajectory; convert without --whole_trajectories")
    if config.candidates:
        from toolkits.trajectories.candidate_samples import with_candidates  # imported here, as below: it needs pyarrow

        samples = with_candidates(samples, Path(config.candidates), lambda sample: is_held_out(sample, config))
    if config.weights:
        from toolkits.shards.weighted_samples import with_weight

        samples = with_weight(samples, Path(config.weights), lambda sample: is_held_out(sample, config))
    shards = plan(samples, config)
    temporary = target.with_name(f".{target.name}.tmp")
    begin(temporary, *state_of_inputs(samples, config))
    with writing_to(target):  # whole shards stay for the same command
        try:
            work = functools.partial(write_shard, folder=temporary, config=config)
            written = list(run_parallel(work, shards, config.num_workers, "shards"))
            manifest = finish(temporary, written, config, source)
            replace_folder(temporary, target)
        except UserError:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    return manifest


def with_published_paths(config: Config) -> Config:
    """`config` with what `--abs_path` gives."""
    if not config.abs_path:
        return config
    stage = Path(config.abs_path)
    files = sorted(map(str, stage.glob("*_json_data/*/*.json")))
    if not files and not config.json_files:
        raise UserError(f"--abs_path {stage}: no *_json_data/*/*.json there")
    first = Path((config.json_files or files)[0]).resolve().parent.parent
    return dataclasses.replace(
        config,
        json_files=config.json_files or tuple(files),
        image_dirs=config.image_dirs
        or tuple(sorted(str(path) for path in stage.glob("../OpenWebVoyager_image_data/*") if path.is_dir())),
        save_dir=config.save_dir or str(stage / first.name.replace("_json_data", "_tar_data")),
    )


def check(config: Config) -> None:
    """Raises `UserError` for what is missing, and when something else is where the shards would go."""
    for flag in ("json_files", "image_dirs", "save_dir"):
        if not getattr(config, flag):
            raise UserError(f"--{flag} is missing (or give --abs_path with OpenWebVoyager's folders)")
    target = Path(config.save_dir)
    if target.exists() and not (target / "manifest.json").exists() and (target.is_file() or any(target.iterdir())):
        raise UserError(f"--save_dir {target}: something else than a shard folder is there; give another folder")


def plan(samples: Sequence[Sample], config: Config) -> list[Shard]:
    """The shards to write, those of held-out tasks last."""
    held_out = [is_held_out(sample, config) for sample in samples]
    images: dict[bytes | str, int] = {}
    shown = [array("Q", [images.setdefault(_hashable(image), len(images)) for image in one.images]) for one in samples]
    shards = []
    for prefix, part in (("elcano", False), ("elcano-val", True)):
        numbers = [(number, shown[number]) for number, out in enumerate(held_out) if out is part]
        groups = plan_shards(numbers, config.max_samples_per_shard, config.seed)
        shards += [
            Shard(f"{prefix}-{number:06d}.tar", samples, array("Q", group), part) for number, group in enumerate(groups)
        ]
    if shards[0].held_out:
        raise UserError(f"--validation_fraction {config.validation_fraction} holds out every sample; give less")
    return shards


def _hashable(image: bytes | Path) -> bytes | str:
    return str(image) if isinstance(image, Path) else image


def is_held_out(sample: Sample, config: Config) -> bool:
    """By its file, or its task alone."""
    origin = sample.origin if isinstance(sample, FiledSample) else None
    return str(origin) in config.validation_files or draw(task_of(sample.id)) < config.validation_fraction


def state_of_inputs(samples: Sequence[Sample], config: Config) -> tuple[str, int]:
    """(a hash of what the shards depend on, so that a run that was killed goes on only when this is the same; about how
    many bytes they will take).

    Hashed are all flags, and the path, bytes and time of the last change of every file that goes in. Every file is
    counted once, and images once more for each further sample that has them.
    """
    values = {name: value for name, value in dataclasses.asdict(config).items() if name != "num_workers"}
    digest = hashlib.sha256(json.dumps(values).encode())
    more = filter(None, [*config.validation_files, config.weights, config.candidates])
    paths = {str(Path(file).resolve()) for file in (*config.json_files, *more)}
    paths.update(str(image) for sample in samples for image in sample.images if isinstance(image, Path))
    sizes: dict[str, int] = {}
    for path in sorted(paths):
        stat = Path(path).stat()
        sizes[path] = stat.st_size
        digest.update(json.dumps([path, stat.st_size, stat.st_mtime_ns]).encode())
    once = sum(sizes.values())
    each = sum(sizes[str(image)] for sample in samples for image in sample.images)
    num_bytes = (once if config.share_images else max(once, each)) + (each if config.legacy else 0)
    return digest.hexdigest(), num_bytes


def begin(temporary: Path, depends: str, num_bytes: int) -> None:
    """Make the folder to write in, or keep it when a killed run left it for the same shards."""
    begun = temporary / _DONE / "depends.json"
    if not begun.exists() or read_json(begun) != depends:
        shutil.rmtree(temporary, ignore_errors=True)
        (temporary / _DONE).mkdir(parents=True)
        free = shutil.disk_usage(temporary).free
        if free < num_bytes:
            shutil.rmtree(temporary)
            raise UserError(f"{temporary.parent}: {free / 1e9:.1f} GB are free, {num_bytes / 1e9:.1f} GB are needed")
        write_json(begun, depends, flush=False)


def write_shard(shard: Shard, folder: Path, config: Config) -> dict[str, Any]:
    """Write one tar, unless a killed run did; returns its entry of the manifest. What it holds stands in `_DONE`."""
    path, done = folder / shard.name, folder / _DONE / f"{shard.name}.json"
    entry = _finished(path, done)
    if entry is not None:
        return entry
    entry, members = _write_tars(shard, path, config)
    _members_file(folder, shard.name).write_text(json.dumps(members))
    begun = done.with_suffix(".tmp")
    begun.write_text(json.dumps(entry))
    begun.rename(done)
    return entry


def _members_file(folder: Path, name: str) -> Path:
    return folder / _DONE / f"{name}.members"


def _finished(path: Path, done: Path) -> dict[str, Any] | None:
    """The manifest's entry of a tar that a killed run completed."""
    with contextlib.suppress(UserError, OSError, KeyError, TypeError):  # torn by a power cut, or never written
        entry = read_json(done)
        if path.stat().st_size == entry["bytes"]:
            return entry
    return None


def _write_tars(shard: Shard, path: Path, config: Config) -> tuple[dict[str, Any], list[Member]]:
    """The tar at `path`, and its twin of the old layout; returns its entry of the manifest and what it holds."""
    writer = ShardWriter(path, config.share_images)
    for sample in shard:
        writer.add(sample.read() if isinstance(sample, FiledSample) else sample)
    if config.legacy and not shard.held_out:
        (path.parent / _LEGACY).mkdir(exist_ok=True)
        from data.shards.legacy import LegacyWriter  # imported here, as below: it needs Pillow

        old = LegacyWriter(path.parent / _LEGACY / shard.name.replace("elcano", "openwebvoyager"))
        for sample in shard:
            old.add(sample)
        old.close()
    return {**writer.close(), **({"split": "val"} if shard.held_out else {})}, writer.members


def finish(
    folder: Path,
    entries: list[dict[str, Any]],
    config: Config,
    source: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Manifest, lists and index of what `write_shard` gave; returns the manifest."""
    names = {split: [entry["url"] for entry in entries if entry.get("split") == split] for split in (None, "val")}

    def members_of(name: str) -> list[Member]:
        with contextlib.suppress(UserError, OSError, TypeError):  # torn by a power cut
            return [Member(*fields) for fields in read_json(_members_file(folder, name))]
        return scan(folder / name)

    write_energon_index(folder, names[None], names["val"], members_of)
    if config.legacy:
        from data.shards.legacy import write_legacy_list

        train = [entry for entry in entries if "split" not in entry]
        sizes = {entry["url"].replace("elcano", "openwebvoyager"): entry["nsamples"] for entry in train}
        write_legacy_list(folder / _LEGACY, sizes)
    shutil.rmtree(folder / _DONE)
    from_here = [os.path.relpath(file, folder) for file in config.json_files]  # both can be moved together
    return write_manifest(
        folder, entries, {**(source or {"json_files": from_here}), "seed": config.seed}, config.share_images
    )


def replace_folder(temporary: Path, target: Path) -> None:
    """Move `temporary` to `target`; what was there is removed only after it was moved aside."""
    aside = target.with_name(f".{target.name}.old")
    shutil.rmtree(aside, ignore_errors=True)
    if target.exists():
        target.rename(aside)
    temporary.rename(target)
    shutil.rmtree(aside, ignore_errors=True)


if __name__ == "__main__":
    gc.disable()  # nothing here refers to itself, and looking for what does costs a few percent
    cli.run(Config, main, description=__doc__)

"""Make shards of a mix: one file that declares which data, how often, without which duplicates.

    python toolkits/mix_data.py --mix mix.toml --save_dir runs/mix/shards

Training does it by itself: `DATASET_PATH=mix.toml bash training/train.sh`. Sources are read one by one, in their order;
what is remembered lies on disk. A killed command goes on, and the same sources give the same tars.
"""

import collections
import dataclasses
import itertools
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from runpy import run_path
from typing import Any

try:
    from common import cli
except ModuleNotFoundError as missing:  # not the python of the virtual environment
    sys.exit(run_path(str(Path(__file__).resolve().parents[1] / "common" / "not_installed.py"))["say"](missing))

from common.errors import UserError
from common.files import locked, read_json, write_json
from common.full_disk import writing_to
from common.inputs import keep_inputs
from common.shown.tables import Table, print_table
from data.shards.mix_file import Mix, MixSource, mix_digest, mix_of_shards, read_mix, shards_of_mix, state_of_mix
from toolkits import convert_to_tar_data
from toolkits.convert_foreign_tars import converted
from toolkits.samples.chosen import Chosen, Progress
from toolkits.samples.selection import Selection
from toolkits.samples.sources import TRAIN, VALIDATION, Opened, Source, is_own, open_samples

_EVERY = 200
"""Samples after which progress is told."""


@dataclasses.dataclass(frozen=True)
class Config:
    """Make shards of a declared mix."""

    mix: str
    """The TOML file."""
    save_dir: str = ""
    """The shard folder to make; empty: where training looks for it, beside the file."""
    num_workers: int = 0
    """Processes that pack; 0: one per CPU."""


def main(config: Config) -> None:
    """Choose, pack, and say what became of each source."""
    file = Path(config.mix)
    keep_inputs("--save_dir", config.save_dir, [file])
    mix = read_mix(file)
    shards = Path(config.save_dir) if config.save_dir else shards_of_mix(file)
    state = state_of_mix(file, mix)
    made = _made(shards, state)
    if made is None:
        with writing_to(shards), locked(shards):
            made = _made(shards, state) or _make(file, mix, shards, state, config.num_workers)
    _print(made)
    print(shards)


def _made(shards: Path, state: str) -> dict[str, Any] | None:
    """What is told of shards that are there and up to date."""
    made = mix_of_shards(shards)
    return made if made and made.get("state") == state else None


def _make(file: Path, mix: Mix, shards: Path, state: str, num_workers: int) -> dict[str, Any]:
    if any((file.parent / one.path).resolve().is_relative_to(shards.resolve()) for one in mix.source):
        raise UserError(f"--save_dir {shards}: a source of the mix is there; give another folder")
    work = shards.with_name(f".{shards.name}.mix")  # what a killed command left there is gone on with
    begun = work / "state.json"
    if not begun.exists() or read_json(begun) != state:
        shutil.rmtree(work, ignore_errors=True)
        write_json(begun, state, flush=False)
    chosen = Chosen(work, mix.dedupe == "near")
    train, validation = chosen.files.values()
    config = convert_to_tar_data.Config(
        json_files=(str(train),),
        image_dirs=(str(chosen.images),),
        save_dir=str(shards),
        max_samples_per_shard=mix.max_samples_per_shard,
        seed=mix.seed,
        share_images=mix.share_images,
        num_workers=num_workers,
    )
    try:
        convert_to_tar_data.check(config)  # before the hours that choosing may take
        told = [_choose(file.parent, number, mix, chosen) for number in range(len(mix.source))]
    finally:
        chosen.close()
    if not train.stat().st_size:
        lost = collections.Counter(kind for one in told for kind in one.left_out.elements())
        kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(lost.items()))
        raise UserError(f"{file}: keeps no sample to train on{f'; left out: {kinds}' if kinds else ''}")
    if validation.stat().st_size:
        config = dataclasses.replace(config, validation_files=(str(validation),))
    sources = [{"path": one.path, **progress.to_json()} for one, progress in zip(mix.source, told, strict=True)]
    made = {"file": file.name, "sha256": mix_digest(file), "state": state, "sources": sources}
    convert_to_tar_data.pack(config, {"mix": made})
    shutil.rmtree(work)
    return made


def _choose(folder: Path, number: int, mix: Mix, chosen: Chosen) -> Progress:
    """The samples of a source that are kept; what a killed command had told is not looked at again."""
    progress, declared = chosen.progress(number), mix.source[number]
    if progress.is_done:
        return progress
    source = _source(folder, declared)
    selection = Selection(mix, chosen.seen)
    with tempfile.TemporaryDirectory(prefix=".mix-", dir=chosen.images.parent) as scratch:
        for found in itertools.islice(_prefixed(source, declared, Path(scratch)), progress.num_read, None):
            progress.num_read += 1
            if reason := _take(number, declared, found, selection, chosen, progress):
                progress.left_out[reason] += 1
            else:
                progress.num_kept += 1
            if progress.num_read % _EVERY == 0:
                chosen.tell(number, progress)
    progress.is_done = True
    chosen.tell(number, progress)
    return progress


def _take(
    number: int, source: MixSource, found: Opened, selection: Selection, chosen: Chosen, progress: Progress
) -> str:
    """Write a sample, or say why not."""
    sample, split = found.sample, selection.split_of(source, found)
    sample.check()
    if reason := selection.refused(source, found) or selection.over_cap(number, source, found, split):
        return reason
    times = selection.times(source, sample, split)
    if not times:
        return "not drawn"
    contents = sample.read_images()
    try:
        images = [chosen.seen.image(content) for content in contents]
    except UserError as error:
        raise UserError(f"{source.path}: sample {sample.id}: a broken image ({error})") from None
    if reason := selection.known(sample, split, images):
        return reason
    selection.check_id(source.path, sample)
    selection.count(number, source, found, split)
    chosen.write(sample, contents, [image.digest for image in images], split, times)
    progress.written[split] += times
    return ""


def _source(folder: Path, declared: MixSource) -> Source:
    image_dir = folder / declared.image_dir if declared.image_dir else None
    return converted(Source(folder / declared.path, declared.format, image_dir, declared.action_space))


def _prefixed(source: Source, declared: MixSource, scratch: Path) -> Iterator[Opened]:
    """Its samples; the ids of other projects' formats count from 1 in every file, so the file's name stands before."""
    prefix = declared.prefix or ("" if is_own(source) else source.path.stem)
    for found in open_samples(source, scratch):
        sample = dataclasses.replace(found.sample, id=f"{prefix}--{found.sample.id}") if prefix else found.sample
        yield dataclasses.replace(found, sample=sample)


def _print(made: dict[str, Any]) -> None:
    table = Table(
        ["source"],
        ["read", "kept", "to train on", "held out"],
        ["left out"],
        title=f"{made['file']}, SHA-256 {made['sha256']}",
    )
    for one in made["sources"]:
        reasons = ", ".join(f"{kind} ({count})" for kind, count in sorted(one["left_out"].items()))
        written = [str(one["written"].get(split, 0)) for split in (TRAIN, VALIDATION)]
        table.add(one["path"], str(one["read"]), str(one["kept"]), *written, reasons)
    print_table(table)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)

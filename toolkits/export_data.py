"""Write our data in the formats that others read: trajectories for agents' toolkits, samples for trainers.

    python toolkits/export_data.py --format atif --result_dir runs/IL/trajectories --out_dir atif
    python toolkits/export_data.py --format ms_swift --json_files samples.json --image_dirs images --out_dir swift
    python toolkits/export_data.py --format hf --shard_dir runs/IL/shards --out_dir dataset --license cc-by-4.0

Samples and trajectories pass one by one, so memory stays bounded. The folder appears in one move when all of it is
written. A last line says by kind what the format cannot hold. import_data.py reads each of them back.
"""

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from runpy import run_path
from typing import Annotated, Literal

try:
    from common import cli
except ModuleNotFoundError as missing:  # not the python of the virtual environment
    sys.exit(run_path(str(Path(__file__).resolve().parents[1] / "common" / "not_installed.py"))["say"](missing))

from common.errors import UserError
from common.options.limits import Checked, at_least
from common.shown.tables import markdown_table
from data.trajectory import is_complete, list_trajectories
from toolkits.readers.reading.left_out import LeftOut
from toolkits.writers.files import new_folder
from toolkits.writers.formats import OUT_FORMATS, WriteSamples, WriteTrajectory
from toolkits.writers.samples import ExportSample, Options, of_files, of_shards


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Write our data in the formats that others read."""

    format: Literal[tuple(OUT_FORMATS)]  # pyright: ignore[reportInvalidTypeForm]  # the flag's values are the table's names
    """What to write; see the table above."""
    out_dir: str
    """The folder to make."""
    result_dir: str = ""
    """Trajectories to write: a folder of trajectory folders."""
    json_files: tuple[str, ...] = ()
    """Samples to write: sample files, with `--image_dirs`."""
    image_dirs: tuple[str, ...] = ()
    """Folders of their images."""
    shard_dir: str = ""
    """Samples to write, in place of `--json_files`: a shard folder."""
    split: Literal["train", "val"] = "train"
    """Which samples of the shard folder: those to train on, or those held out."""
    name: str = "elcano"
    """What the data set is called where the format has a place for it."""
    license: str = ""
    """Its license, for a data set's card (`cc-by-4.0`, ...)."""
    max_samples_per_file: Annotated[int, at_least(1)] = 500
    """Of tars and Parquet files."""


def main(config: Config) -> None:
    """Export, then say what was written and what was left out."""
    found, left_out = OUT_FORMATS[config.format], LeftOut()
    given = [config.result_dir, config.json_files, config.shard_dir]
    wanted = ("--result_dir",) if found.trajectory else ("--json_files with --image_dirs", "--shard_dir")
    if sum(map(bool, given)) != 1 or bool(config.result_dir) != bool(found.trajectory):
        raise UserError(f"{config.format} is written of {found.takes}: give {' or '.join(wanted)}, and one of these")
    with new_folder(Path(config.out_dir)) as folder:
        count = 0
        if found.trajectory:
            count = _write_trajectories(found.trajectory, config, folder, left_out)
        if found.samples:
            count = _write_samples(found.samples, config, folder, left_out)
        if not count:
            raise UserError(f"{config.result_dir or config.shard_dir or config.json_files[0]}: no {found.takes}")
    left_out.tell(config.out_dir)
    print(f"{config.out_dir}: {count} {found.takes}")


def _write_trajectories(write: WriteTrajectory, config: Config, folder: Path, left_out: LeftOut) -> int:
    count = 0
    for trajectory in list_trajectories(config.result_dir):
        if not is_complete(trajectory):
            left_out["unfinished trajectories"] += 1
            continue
        write(trajectory, folder, left_out)
        count += 1
    return count


def _write_samples(write: WriteSamples, config: Config, folder: Path, left_out: LeftOut) -> int:
    counted = _Counted(_samples(config, left_out))
    source = config.shard_dir or ", ".join(config.json_files)
    write(iter(counted), folder, Options(config.name, config.license, source, config.max_samples_per_file), left_out)
    return counted.count


def _samples(config: Config, left_out: LeftOut) -> Iterator[ExportSample]:
    if config.shard_dir:
        return of_shards(Path(config.shard_dir), config.split, left_out)
    if not config.image_dirs:
        raise UserError("--image_dirs is missing: the folders of the samples' images")
    return of_files([Path(file) for file in config.json_files], [Path(folder) for folder in config.image_dirs])


class _Counted:
    """Iterates over samples, and knows how many there were."""

    def __init__(self, samples: Iterator[ExportSample]):
        self.samples, self.count = samples, 0

    def __iter__(self) -> Iterator[ExportSample]:
        for sample in self.samples:
            self.count += 1
            yield sample


def table() -> str:
    """All formats, as the help of the command shows them."""
    rows = [(name, one.takes, one.what) for name, one in OUT_FORMATS.items()]
    return markdown_table([("format", "of", "what"), *rows])


if __name__ == "__main__":
    cli.run(Config, main, description=f"{__doc__}\n{table()}")

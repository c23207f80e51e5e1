"""Make shards of webdataset tars that others made, or of an energon dataset, once.

    python toolkits/convert_foreign_tars.py --tar_dir tars

Training does it by itself: `DATASET_PATH=tars bash training/train.sh`. The tars are checked and converted as
import_data.py and convert_to_tar_data.py do it, into the folder that the last line names. While they are the same tars
they are not converted again.
"""

import dataclasses
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from runpy import run_path
from typing import Any

try:
    from common import cli
except ModuleNotFoundError as missing:  # not the python of the virtual environment
    sys.exit(run_path(str(Path(__file__).resolve().parents[1] / "common" / "not_installed.py"))["say"](missing))

from common.errors import UserError
from common.files import locked
from common.full_disk import writing_to
from common.shown.terminal import printable
from data.shards.foreign_tars import ENERGON, MadeOf, is_foreign, shards_of
from data.shards.tar import list_tars
from toolkits import convert_to_tar_data
from toolkits.readers.interchange.energon import samples_of_dataset
from toolkits.readers.interchange.webdataset_tar import samples_of_tars
from toolkits.readers.logs.released_tar import is_released, read_released_tar
from toolkits.readers.reading.left_out import LeftOut
from toolkits.samples.sources import Source, kind_of
from toolkits.shards.sample_records import encode_once, write_list


@dataclasses.dataclass(frozen=True)
class Config:
    """Make shards of webdataset tars that others made."""

    tar_dir: str
    """The folder of tars, or an energon dataset."""


def main(config: Config) -> None:
    """Convert; `UserError` where there is nothing to convert."""
    folder = Path(config.tar_dir)
    if not is_foreign(folder):
        raise UserError(f"--tar_dir {folder}: no folder of webdataset tars that others made")
    convert(folder)


def convert(folder: Path) -> Path:
    """The shards of a foreign folder, made unless they are there; says in a line what was found.

    Raises:
        UserError: naming tar and sample, when a tar is damaged, a sample is none or occurs twice, or there is none.
    """
    shards = shards_of(folder)
    made_of = MadeOf.read(shards)
    if made_of is None:
        _check_place(folder, shards.parent)
        with writing_to(shards), locked(shards):
            made_of = MadeOf.read(shards) or _convert(folder, shards)
    print(printable(made_of.line(folder, shards)), flush=True)
    return shards


def _check_place(folder: Path, place: Path) -> None:
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        told = f"its shards can be written neither in it nor in {place} ({error.strerror})"
        raise UserError(f"{folder}: {told}; give another folder for caches as XDG_CACHE_HOME") from None


def converted(source: Source) -> Source:
    """The same, where its tars are others' of the shards that were made of them."""
    return dataclasses.replace(source, path=convert(source.path)) if kind_of(source) == "tars" else source


def _convert(folder: Path, shards: Path) -> MadeOf:
    """Images become files for as long as it takes."""
    work = shards.with_name(f".{shards.name}.samples")
    shutil.rmtree(work, ignore_errors=True)  # of a run that was killed
    (work / "images").mkdir(parents=True)
    try:
        found = _Found(folder, work / "images")
        write_list(work / "samples.json", encode_once(str(folder), found.records()))
        files, folders = (str(work / "samples.json"),), (str(work / "images"),)
        num_samples = convert_to_tar_data.pack(convert_to_tar_data.Config(files, folders, str(shards)))["num_samples"]
    finally:
        shutil.rmtree(work, ignore_errors=True)
    told = str(found.left_out), found.left_out.words_of_taken()
    made_of = MadeOf(found.kind, found.num_tars, num_samples, found.num_images, *told)
    made_of.write(shards)
    return made_of


class _Found:
    """The samples of a foreign folder, read once, and counts of what they have."""

    def __init__(self, folder: Path, image_dir: Path) -> None:
        self.folder, self.image_dir = folder, image_dir
        self.left_out, self.num_images, self.num_tars = LeftOut(), 0, len(list_tars(folder))
        self.kind, self._read = _kind(folder)

    def records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """(the folder, a record) one by one."""
        for record in self._read(self.folder, self.image_dir, self.left_out):
            self.num_images += len(record["images"])
            yield str(self.folder), record


def _kind(folder: Path) -> tuple[str, Callable[[Path, Path, LeftOut], Iterator[dict[str, Any]]]]:
    """Whose tars these are, and who reads them."""
    if (folder / ENERGON).is_file():
        return "energon", partial(samples_of_dataset, num_workers=0)
    if all(is_released(tar) for tar in list_tars(folder)):
        return "OpenWebVoyager", _released
    return "webdataset", partial(samples_of_tars, num_workers=0)


def _released(folder: Path, image_dir: Path, left_out: LeftOut) -> Iterator[dict[str, Any]]:
    for tar in list_tars(folder):
        yield from read_released_tar(tar, image_dir, 1)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)

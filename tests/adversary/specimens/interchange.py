"""What export_data.py writes in each format, for damage: import_data.py reads what is left, or says why not."""

import shutil
from collections.abc import Callable
from pathlib import Path

from tests.adversary.specimens.shards import write_samples
from tests.adversary.specimens.specimen import Reading, Specimen
from tests.toolkits.trajectories import write_trajectory
from toolkits import export_data, import_data
from toolkits.readers.formats import FORMATS

_TRAJECTORIES = ("atif", "adp")
_SAMPLES = {
    "messages": "train.jsonl",
    "ms_swift": "train.jsonl",
    "llama_factory": ".",
    "hf": ".",
    "verl": "train.parquet",
    "webdataset": ".",
    "energon": ".",
}


def _write(kind: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        if kind in _TRAJECTORIES:
            for number in range(2):
                write_trajectory(folder / "ours", f"Shop--{number}", run=number, num_steps=2)
            given = {"result_dir": str(folder / "ours")}
        else:
            (folder / "ours").mkdir()
            write_samples(folder / "ours")
            given = {"json_files": (str(folder / "ours" / "samples.json"),), "image_dirs": (str(folder / "ours"),)}
        export_data.main(export_data.Config(kind, str(folder / "out"), **given))
        shutil.rmtree(folder / "ours")

    return write


def _read(kind: str, name: str) -> Reading:
    def read(folder: Path, out: Path) -> None:
        images = folder / "out" if name in ("train.jsonl", ".") and (folder / "out" / "images").exists() else out / "i"
        is_trajectories = FORMATS[kind].samples is None
        to = {"result_dir": str(out / "r")} if is_trajectories else {"save_json_file": str(out / "x.json")}
        import_data.main(import_data.Config(kind, (str(folder / "out" / name),), str(images), **to))

    return read


def _of(kind: str, name: str, damaged: str) -> Specimen:
    return Specimen(_write(kind), damaged, (_read(kind, name),))


INTERCHANGE: dict[str, Specimen] = {
    **{f"{kind}, exported": _of(kind, ".", "out/**/*.json*") for kind in _TRAJECTORIES},
    **{f"{kind}, exported": _of(kind, name, "out/**/[!.i]*.*") for kind, name in _SAMPLES.items()},
}

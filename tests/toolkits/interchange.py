"""Samples for the tests of formats: some of ours, and how they go out and come back."""

import json
from pathlib import Path
from typing import Any

from data.trajectory import FINISHED
from tests.toolkits.trajectories import screenshot, write_trajectory
from toolkits import convert_to_tar_data, convert_trajectories_to_json, export_data, import_data

ALL_OUT = ("messages", "llava", "ms_swift", "llama_factory", "hf", "verl", "webdataset", "energon")


def write_samples(folder: Path) -> tuple[Path, Path]:
    """(sample file, folder of images) of judged trajectories, whose samples have rewards and share screenshots."""
    for number in range(2):
        write_trajectory(folder / "results", f"Shop--{number}", run=number, status=FINISHED)
    return samples_of(folder / "results", folder)


def export(kind: str, samples: Path, images: Path, out: Path, **options: Any) -> Path:
    export_data.main(
        export_data.Config(kind, str(out), json_files=(str(samples),), image_dirs=(str(images),), **options)
    )
    return out


def take_in(kind: str, images: Path, out: Path, *given: Path) -> list[dict[str, Any]]:
    """The samples of what import_data.py makes of `given`."""
    import_data.main(import_data.Config(kind, tuple(map(str, given)), str(images), str(out)))
    return json.loads(out.read_text())


def seen(samples: list[dict[str, Any]], images: Path) -> list[dict[str, Any]]:
    """Samples with their pictures in place of their names, sorted as shards are."""
    shown = [{**sample, "images": [(images / name).read_bytes() for name in sample["images"]]} for sample in samples]
    return sorted(shown, key=lambda sample: sample["id"])


def shards(samples: Path, images: Path, out: Path) -> dict[str, bytes]:
    """The tars of samples, by name."""
    config = convert_to_tar_data.Config((str(samples),), (str(images),), str(out), num_workers=1)
    convert_to_tar_data.main(config)
    return {path.name: path.read_bytes() for path in sorted(out.glob("*.tar"))}


def pictures(folder: Path, *names: str) -> None:
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(screenshot(number))


def samples_of(results: Path, folder: Path) -> tuple[Path, Path]:
    """As `write_samples`, of trajectories that are there."""
    config = convert_trajectories_to_json.Config(
        str(results), str(folder / "images"), str(folder / "samples.json"), num_workers=1
    )
    convert_trajectories_to_json.main(config)
    return folder / "samples.json", folder / "images"

"""Samples, shards, columns and images."""

import json
import pickle
from pathlib import Path

import pyarrow
from PIL import Image
from pyarrow import parquet

from data.images import opened, to_rgb
from data.shards import columns
from data.shards.legacy import unpickle_images
from data.shards.shard import read_manifest, read_shard
from tests.adversary.specimens.specimen import TURNS, Specimen, images
from toolkits import (
    convert_to_tar_data,
    inspect_data,
    make_representation_data,
)


def write_samples(folder: Path) -> None:
    images(folder)
    (folder / "2.png").write_bytes((folder / "1.png").read_bytes())
    names = [f"Shop--0000{trajectory}--r01--step0{step}" for trajectory in range(2) for step in range(1, 4)]
    records = [{"id": name, "images": [f"{at % 3}.png"], "conversations": TURNS} for at, name in enumerate(names)]
    (folder / "samples.json").write_text(json.dumps(records))


def pack(folder: Path, out: Path) -> None:
    sample_file, shards = (str(folder / "samples.json"),), str(out / "shards")
    convert_to_tar_data.main(convert_to_tar_data.Config(sample_file, (str(folder),), shards, num_workers=1))


def represent(folder: Path, out: Path) -> None:
    kinds = make_representation_data.Config
    make_representation_data.main(kinds((folder / "samples.json",), (folder,), out / "made.json"))


def write_shards(folder: Path) -> None:
    write_samples(folder)
    config = convert_to_tar_data.Config(
        (str(folder / "samples.json"),), (str(folder),), str(folder / "shards"), num_workers=1
    )
    convert_to_tar_data.main(config)
    for path in [folder / "samples.json", *folder.glob("*.png")]:
        path.unlink()


def inspect(folder: Path, out: Path) -> None:
    kinds = inspect_data.Config
    inspect_data.main(kinds((str(folder / "shards"),), str(out / "sheet.png")))


def read_shards(folder: Path, out: Path) -> None:
    for shard in read_manifest(folder / "shards")["shards"]:
        for sample in read_shard(folder / "shards" / shard["url"]):
            sample.check()


def write_parquet(folder: Path) -> None:
    rows = pyarrow.table({"id": ["a", "b"], "digest": ["x", "y"], "value": [1.0, 2.0], "list": [[1.0], [2.0, 3.0]]})
    parquet.write_table(rows.replace_schema_metadata({"made_of": "{}"}), folder / "values.parquet")


def read_columns(folder: Path, out: Path) -> None:
    columns.ColumnFiles([folder / "values.parquet"], ["value"], ["list"])
    columns.read_rows(folder / "values.parquet")
    columns.read_record(folder / "values.parquet")


def write_images(folder: Path) -> None:
    picture = Image.effect_noise((40, 30), 80).convert("RGBA")
    for kind in ("png", "webp"):
        picture.save(folder / f"image.{kind}")
    picture.convert("RGB").save(folder / "image.jpeg", exif=Image.Exif())
    pickled = [picture.convert("RGB"), picture.convert("P")]
    (folder / "images.pkl").write_bytes(pickle.dumps(pickled, protocol=4))


def read_images(folder: Path, out: Path) -> None:
    for path in sorted(folder.glob("image.*")):
        with opened(path) as image:
            to_rgb(image)
    for image in unpickle_images((folder / "images.pkl").read_bytes()):
        image.to_image()


SHARDS: dict[str, Specimen] = {
    "samples": Specimen(write_samples, "*", (pack, represent)),
    "shards": Specimen(write_shards, "shards/*", (inspect, read_shards)),
    "columns": Specimen(write_parquet, "*", (read_columns,)),
    "images": Specimen(write_images, "*", (read_images,)),
}

"""OpenWebVoyager's released tars, as samples whose images become files named as its converter named them."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from data.shards.legacy import read_legacy_tar
from data.shards.shard import Sample, image_type
from toolkits.readers.reading.pictures import check_picture
from toolkits.readers.reading.references import write_image


def is_released(tar: Path) -> bool:
    """By its name."""
    return tar.name.startswith("openwebvoyager-")


def read_released_tar(path: Path, image_dir: Path, round_id: int) -> Iterator[dict[str, Any]]:
    """One sample each. The file is read twice: memory does not grow with it, and nothing is written of a bad one.

    Raises:
        UserError: naming the tar and the sample.
    """
    own, known = {}, set()
    for sample in read_legacy_tar(path):
        images = {_digest(image): image for image in sample.read_images()}
        for digest in images.keys() - known:
            check_picture(f"{path}: sample {sample.id!r}", images[digest])
        known |= images.keys()
        if images:  # the newest screenshot is the step's own, the others are those of the steps before
            newest = sample.read_images()[-1]
            own.setdefault(_digest(newest), f"{sample.id}.{image_type(newest)}")
    for sample in read_legacy_tar(path):
        names = [_name(sample, image, own) for image in sample.read_images()]
        for name, image in zip(names, sample.read_images(), strict=True):
            write_image(f"{path}: sample {sample.id!r}", image_dir / name, image)
        yield {"id": sample.id, "images": names, "conversations": sample.conversations}


def _digest(image: bytes) -> str:
    return hashlib.sha256(image).hexdigest()


def _name(sample: Sample, image: bytes, own: dict[str, str]) -> str:
    if image is sample.images[-1]:
        return f"{sample.id}.{image_type(image)}"
    digest = _digest(image)
    return own.get(digest) or f"{digest[:20]}.{image_type(image)}"

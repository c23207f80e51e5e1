"""Every sample of a data set, looked at before any GPU starts: an error after an hour of training is an hour lost."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from data.conversation import IMAGE
from data.errors import UserError
from data.shard import parse_fields
from data.tar import scan


def check_samples(folder: Path, manifest: dict[str, Any], image_num: int) -> None:
    """`UserError` for a sample whose `<image>` marks are not as many as its images, or more than `image_num`.

    Only tar headers and json members are read, no image.
    """
    for entry in manifest["shards"]:
        for fields, num_images in _read_counts(folder / entry["url"]):
            marks = sum(turn["value"].count(IMAGE) for turn in fields["conversations"] if turn["from"] == "human")
            if marks != num_images:
                raise UserError(f"sample {fields['id']}: {marks} {IMAGE} marks but {num_images} images")
            if num_images > image_num:
                raise UserError(f"sample {fields['id']}: {num_images} images, more than IMAGE_NUM={image_num}")


def _read_counts(path: Path) -> Iterator[tuple[dict[str, Any], int]]:
    """(json member, number of images) of every sample of a tar."""
    with open(path, "rb") as file:
        for key, group in itertools.groupby(scan(path), key=lambda member: member.name.split(".")[0]):
            members = list(group)
            texts = [member for member in members if member.name == f"{key}.json"]
            content = os.pread(file.fileno(), texts[0].size, texts[0].offset) if texts else b""
            fields = parse_fields(key, content)
            yield fields, len(fields["images"]) if "images" in fields else len(members) - 1

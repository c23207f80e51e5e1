"""Samples on their way out: one by one from sample files or from shards."""

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.conversation import IMAGE
from data.shards.shard import RESERVED, image_type, read_manifest, read_shard
from toolkits.readers.interchange.own_fields import beside
from toolkits.readers.reading.left_out import LeftOut
from toolkits.readers.reading.pictures import check_picture
from toolkits.readers.reading.stream import stream_records
from toolkits.shards.sample_records import ImageFolders, check_record

_OTHER_MARKS = ("<video>", "<audio>")
_ROLES = {"human": "user", "gpt": "assistant"}


@dataclasses.dataclass(frozen=True)
class Options:
    """What the user says about all of them."""

    name: str = "elcano"
    license: str = ""
    source: str = ""
    max_samples_per_file: int = 500


@dataclasses.dataclass(frozen=True)
class ExportSample:
    """A sample whose `images` have names that no other picture of the export has; each is a file or its bytes. `extra`
    are its rewards and all else that is neither turn nor image."""

    id: str
    conversations: list[dict[str, str]]
    images: Sequence[tuple[str, Path | bytes]]
    extra: dict[str, Any]

    def messages(self) -> list[dict[str, str]]:
        """Turns as `role` and `content`, with the marks of the images in the texts."""
        return [{"role": _ROLES[turn["from"]], "content": turn["value"]} for turn in self.conversations]

    def messages_for_loaders(self, left_out: LeftOut) -> list[dict[str, str]]:
        """As `messages`, of which loaders count the marks of videos and sounds: one that someone typed stands
        with a space, as a typed mark of an image does."""
        messages = self.messages()
        typed = [mark for mark in _OTHER_MARKS if any(mark in message["content"] for message in messages)]
        for mark in typed:
            left_out.taken[f"samples in whose texts {mark} is typed, with a space"] += 1
            messages = [
                {**message, "content": message["content"].replace(mark, f"< {mark[1:]}")} for message in messages
            ]
        return messages

    def beside(self) -> dict[str, Any]:
        """`extra` as it stands beside the turns (own_fields.py)."""
        return beside(self.extra, self.as_json)

    def contents(self) -> list[bytes]:
        """The encoded images."""
        return [image.read_bytes() if isinstance(image, Path) else image for _, image in self.images]

    def as_json(self, value: Any) -> str:
        """`value` of this sample on one line; `UserError` where JSON has no word for a number of it."""
        try:
            return json.dumps(value, ensure_ascii=False, allow_nan=False)
        except RecursionError:
            raise UserError(f"sample {self.id}: a field of it is nested too deeply") from None
        except ValueError:
            raise UserError(f"sample {self.id}: holds NaN or an infinite number, which is no JSON") from None


def of_files(files: Sequence[Path], folders: Sequence[Path]) -> Iterator[ExportSample]:
    """Those of sample files, in order.

    Raises:
        UserError: naming file and sample.
    """
    known, places = set(), ImageFolders(folders)
    for file in files:
        for where, record in stream_records(file):
            check_record(where, record)
            if record["id"] in known:
                raise UserError(f"{where}: sample {record['id']} occurs twice")
            known.add(record["id"])
            paths = [Path(path) for path in places.find(where, record["images"])]
            for path in paths:
                check_picture(f"{where}: sample {record['id']}", path)
            extra = {name: value for name, value in record.items() if name not in RESERVED}
            yield ExportSample(
                record["id"], record["conversations"], list(zip(record["images"], paths, strict=True)), extra
            )


def of_shards(folder: Path, split: str, left_out: LeftOut) -> Iterator[ExportSample]:
    """Those of a shard folder's split (`train` or `val`), tar by tar; each has all its images under its own name.

    Raises:
        UserError: naming the tar.
    """
    for entry in read_manifest(folder)["shards"]:
        if entry.get("split", "train") != split:
            left_out["held-out samples" if split == "train" else "samples for training"] += entry["nsamples"]
            continue
        for sample in read_shard(folder / entry["url"]):
            for number, image in enumerate(sample.read_images()):
                check_picture(f"{folder / entry['url']}: sample {sample.id}: image {number}", image)
            images = [(f"{sample.key}.{n}.{image_type(image)}", image) for n, image in enumerate(sample.read_images())]
            yield ExportSample(sample.id, sample.conversations, images, sample.extra)


def split_at_marks(text: str) -> list[str | None]:
    """A turn's text in pieces; None stands for an image."""
    pieces: list[str | None] = []
    for number, piece in enumerate(text.split(IMAGE)):
        pieces += [None] * bool(number) + [piece] * bool(piece)
    return pieces

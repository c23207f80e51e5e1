"""The samples that a mix keeps, as sample files and images by their content, while they are chosen.

A killed command goes on: what was written is told together with what was seen, in one transaction.
"""

import collections
import dataclasses
import json
import os
from pathlib import Path
from typing import Any, BinaryIO

from common.files import write_atomic
from data.shards.shard import Sample, image_type
from toolkits.samples.sources import TRAIN, VALIDATION
from toolkits.shards.seen import Seen

_TABLE = "CREATE TABLE IF NOT EXISTS progress (source INTEGER PRIMARY KEY, told TEXT)"


@dataclasses.dataclass
class Progress:
    """Of a source: how many samples were read, kept, and left out by reason; how many there are of them by split, each
    as often as its weight says; whether that is all."""

    num_read: int = 0
    num_kept: int = 0
    written: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    left_out: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    is_done: bool = False

    def to_json(self) -> dict[str, Any]:
        told = {"read": self.num_read, "kept": self.num_kept, "written": dict(self.written)}
        return {**told, "left_out": dict(self.left_out)}


class Chosen:
    """In `folder`, which a killed command may have left; `seen` lies there, too."""

    def __init__(self, folder: Path, near: bool) -> None:
        """`near`: images are known by their looks, too."""
        self.images = folder / "images"
        self.images.mkdir(parents=True, exist_ok=True)
        self.seen = Seen(folder / "seen.sqlite", near)
        self.seen.database.execute(_TABLE)
        self.files = {split: folder / f"{split}.jsonl" for split in (TRAIN, VALIDATION)}
        told = self._told(-1) or {}
        self._open = {split: _cut_open(path, told.get(split, 0)) for split, path in self.files.items()}

    def progress(self, number: int) -> Progress:
        """Of a source, as far as it was told."""
        if (told := self._told(number)) is None:
            return Progress()
        left_out, written = (collections.Counter[str](told[name]) for name in ("left_out", "written"))
        return Progress(told["num_read"], told["num_kept"], written, left_out, told["is_done"])

    def write(self, sample: Sample, contents: list[bytes], digests: list[bytes], split: str, times: int) -> None:
        """`contents` are its encoded images."""
        names = [f"{digest.hex()}.{image_type(one)}" for digest, one in zip(digests, contents, strict=True)]
        for name, content, image in zip(names, contents, sample.images, strict=True):
            self._keep(self.images / name, content, image)
        for copy in range(1, times + 1):
            identifier = sample.id if copy == 1 else f"x{copy}--{sample.id}"
            record = {"id": identifier, "images": names, "conversations": sample.conversations, **sample.extra}
            self._open[split].write(json.dumps(record).encode() + b"\n")

    def tell(self, number: int, progress: Progress) -> None:
        """So far all is kept; a killed command goes on from here."""
        sizes = {split: file.tell() for split, file in self._open.items()}
        for file in self._open.values():
            file.flush()
        rows = [(number, json.dumps(vars(progress))), (-1, json.dumps(sizes))]
        self.seen.database.executemany("INSERT OR REPLACE INTO progress VALUES (?, ?)", rows)
        self.seen.database.commit()

    def close(self) -> None:
        for file in self._open.values():
            file.close()
        self.seen.close()

    def _told(self, number: int) -> dict[str, Any] | None:
        found = self.seen.database.execute("SELECT told FROM progress WHERE source = ?", (number,)).fetchone()
        return json.loads(found[0]) if found else None

    @staticmethod
    def _keep(target: Path, content: bytes, image: bytes | Path) -> None:
        if target.exists():
            return
        if isinstance(image, Path):
            try:
                os.link(image.resolve(), target)  # a link itself would be linked
                return
            except OSError:  # another file system, or one without hard links
                pass
        write_atomic(target, content, flush=False)


def _cut_open(path: Path, num_bytes: int) -> BinaryIO:
    """To append behind what was told."""
    file = open(path, "ab")  # noqa: SIM115 - closed by `close`
    file.truncate(num_bytes)
    file.seek(num_bytes)
    return file

"""Samples as they lie in a folder of shards: their json members, and where their images are.

To know the order of a run one reads the json members only; an image is read by the ranks that need it.
"""

import dataclasses
import functools
import itertools
import os
import sqlite3
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.samples.whole_trajectory import EARLIER, split_steps
from data.shards.shard import parse_fields, read_manifest, sample_images
from data.shards.tar import scan
from training.samples.pictures import FilePart


@dataclasses.dataclass(frozen=True)
class StoredSample:
    """`fields` is its json member; `find_images` looks up where its images lie."""

    fields: dict[str, Any]
    find_images: Callable[[], list[FilePart]]

    @property
    def id(self) -> str:
        return self.fields["id"]

    def steps(self) -> list["StoredSample"]:
        """The turn samples of a whole trajectory; of any other sample itself."""
        if EARLIER not in self.fields:
            return [self]
        find_images = functools.cache(self.find_images)
        return [
            StoredSample(fields, lambda count=fields["num_images"]: find_images()[:count])
            for fields in split_steps(self.fields)
        ]


class ShardIndex:
    """Where the members of a folder's samples lie, by energon's index, which it opens when it is first asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._database: tuple[int, sqlite3.Connection] | None = None

    def find_images(self, shard: str, key: str, fields: dict[str, Any]) -> list[FilePart]:
        """Those of sample `key` in the tar `shard`; `UserError` for one that is not there."""

        def fetch(name: str) -> FilePart:
            other, _, part = name.partition(".")
            return self._parts(shard, other)[part]

        own = {part: where for part, where in self._parts(shard, key).items() if _is_image(part)}
        return sample_images(key, fields, own, fetch)

    def _parts(self, shard: str, key: str) -> dict[str, FilePart]:
        """The members of a sample by the name after its key."""
        rows = self._connection().execute(
            "SELECT part_name, content_byte_offset, content_byte_size FROM samples "
            "JOIN sample_parts USING (tar_file_id, sample_index) WHERE sample_key = ?",
            (key,),
        )
        return {name: FilePart(self.folder / shard, offset, size) for name, offset, size in rows}

    def _connection(self) -> sqlite3.Connection:
        """Of this process: one from before a fork must not be used after it."""
        if self._database is None or self._database[0] != os.getpid():
            index = self.folder.absolute() / ".nv-meta" / "index.sqlite"
            connection = sqlite3.connect(f"{index.as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
            self._database = (os.getpid(), connection)
        return self._database[1]


def read_in_order(
    folder: Path, splits: Collection[str] = ("train", "val"), left_out: Collection[str] = ()
) -> Iterator[StoredSample]:
    """Every sample of a shard folder's `splits` once, as it lies there, but those whose keys are `left_out`; of whole
    trajectories every step."""
    for entry in read_manifest(folder)["shards"]:
        if entry.get("split", "train") in splits:
            for key, read in samples_of(folder / entry["url"]):
                if key not in left_out:
                    yield from read().steps()


def samples_of(path: Path) -> Iterator[tuple[str, Callable[[], StoredSample]]]:
    """(key, how to read it) of every sample of a tar, in order; reading may raise `UserError`."""
    members = scan(path)
    places = {member.name: FilePart(path, member.offset, member.size) for member in members}
    for key, group in itertools.groupby(members, key=lambda member: member.name.split(".")[0]):
        own = {member.name.partition(".")[2]: places[member.name] for member in group}
        yield key, functools.partial(_read, path, key, own, places)


def _read(path: Path, key: str, own: dict[str, FilePart], places: dict[str, FilePart]) -> StoredSample:
    text = own.get("json")
    if text is None:
        raise UserError(f"{path}: sample {key!r} has images but no json")
    fields, images = parse_fields(key, text.read()), {name: part for name, part in own.items() if name != "json"}
    return StoredSample(fields, lambda: sample_images(key, fields, images, places.__getitem__))


def _is_image(part: str) -> bool:
    return part.split(".")[0].isdecimal()

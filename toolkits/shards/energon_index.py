"""Energon index: the `.nv-meta` folder and `.tar.idx` files by which megatron-energon reads a shard folder.

What `energon prepare` makes, written here without importing energon (which takes seconds, and torch) and without
reading the tars again; a test compares the two. Source: megatron-energon 7.4.1, flavors/webdataset/prepare.py.
"""

import contextlib
import hashlib
import itertools
import json
import sqlite3
import struct
import uuid
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from common.files import write_atomic
from data.shards.tar import Member, scan

_FOLDER = ".nv-meta"
_DATASET = "__module__: megatron.energon\n__class__: CrudeWebdataset\n"
_ENERGON_VERSION = "7.4.1"
_TABLES = """
CREATE TABLE samples (tar_file_id INTEGER NOT NULL, sample_key TEXT NOT NULL UNIQUE, sample_index INTEGER NOT NULL,
    byte_offset INTEGER, byte_size INTEGER);
CREATE TABLE sample_parts (tar_file_id INTEGER, sample_index INTEGER, part_name TEXT, content_byte_offset INTEGER,
    content_byte_size INTEGER);
"""
_INDEXES = """
CREATE INDEX idx_samples_by_tar_and_idx ON samples(tar_file_id, sample_index);
CREATE INDEX idx_sample_parts_seq ON sample_parts(tar_file_id, sample_index, content_byte_offset);
CREATE INDEX idx_sample_parts_full
    ON sample_parts(tar_file_id, sample_index, part_name, content_byte_offset, content_byte_size);
"""


TarIndex = list[tuple[str, list[Member]]]
"""Of every sample of a tar its key and members, in order."""


def index_members(members: Iterable[Member]) -> TarIndex:
    """The index of a tar that holds `members`; a sample's key ends at the first dot of its members' names."""
    groups = itertools.groupby(members, key=lambda member: member.name.split(".", 1)[0])
    return [(key, list(group)) for key, group in groups]


def write_energon_index(
    folder: Path,
    shard_names: Sequence[str],
    validation_names: Sequence[str] = (),
    members_of: Callable[[str], Iterable[Member]] | None = None,
) -> None:
    """Index the tars `shard_names` of `folder` as training split and `validation_names` as validation split.

    `members_of` says what a tar of this name holds, where that is known already.
    """
    names = [*shard_names, *validation_names]
    index = folder / _FOLDER
    index.mkdir(exist_ok=True)
    counts, digest = {}, hashlib.sha256()
    (index / "index.sqlite").unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(index / "index.sqlite")) as database:
        database.execute("PRAGMA synchronous = OFF")  # flushed to disk when the system likes, as the tars are
        database.executescript(_TABLES)
        for number, name in enumerate(names):
            samples = index_members(members_of(name) if members_of else scan(folder / name))
            counts[name] = len(samples)
            _insert(database, number, samples)
            end = samples[-1][1][-1].end if samples else 0
            offsets = struct.pack(f"<{len(samples) + 1}Q", *(members[0].start for _, members in samples), end)
            (folder / f"{name}.idx").write_bytes(offsets)
            digest.update(name.encode() + offsets)
        database.executescript(_INDEXES)
        database.commit()
    info = {"energon_version": _ENERGON_VERSION, "shard_counts": counts}
    write_atomic(index / ".info.json", json.dumps(info, indent=2), flush=False)
    write_atomic(index / "split.yaml", _split(shard_names, validation_names), flush=False)
    write_atomic(index / "index.uuid", str(uuid.UUID(bytes=digest.digest()[:16])), flush=False)
    write_atomic(index / "dataset.yaml", _DATASET, flush=False)


def _insert(database: sqlite3.Connection, tar: int, samples: TarIndex) -> None:
    rows = [
        (tar, key, index, members[0].start, members[-1].end - members[0].start)
        for index, (key, members) in enumerate(samples)
    ]
    parts = [
        (tar, index, member.name.split(".", 1)[1], member.offset, member.size)
        for index, (_, members) in enumerate(samples)
        for member in members
    ]
    database.executemany("INSERT INTO samples VALUES (?, ?, ?, ?, ?)", rows)
    database.executemany("INSERT INTO sample_parts VALUES (?, ?, ?, ?, ?)", parts)


def _split(train: Sequence[str], validation: Sequence[str]) -> str:
    parts = {"train": train, "val": validation, "test": ()}
    lines = ["split_parts:"]
    for part, names in parts.items():
        lines += [f"  {part}:", *(f"  - {name}" for name in names)] if names else [f"  {part}: []"]
    return "\n".join([*lines, "exclude: []", ""])

"""What was seen of a stream of samples: images, exactly and by their looks, and keys of any kind.

It lies in an SQLite file, so memory does not grow with the stream, and a killed command goes on with it.
"""

import dataclasses
import sqlite3
from pathlib import Path

import xxhash

from data.shards.shard import image_type
from toolkits.shards.image_hash import NUM_BITS, bands, image_hash, look_alike

_TABLES = """
CREATE TABLE IF NOT EXISTS images (digest BLOB PRIMARY KEY, alike INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS firsts (alike INTEGER PRIMARY KEY, bits BLOB);
CREATE TABLE IF NOT EXISTS bands (band INTEGER, alike INTEGER, PRIMARY KEY (band, alike)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS keys (kind TEXT, key BLOB, split TEXT, PRIMARY KEY (kind, key, split)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counts (kind TEXT, key TEXT, count INTEGER, PRIMARY KEY (kind, key)) WITHOUT ROWID;
"""


@dataclasses.dataclass(frozen=True)
class SeenImage:
    """`alike`: the number that it shares with the images that look like the first of them. `is_new`: these bytes are
    seen for the first time; `is_new_look`: nothing that looks like it was."""

    digest: bytes
    alike: int
    is_new: bool
    is_new_look: bool


class Seen:
    """Of a stream; `near` False leaves looks out, and no image is decoded."""

    def __init__(self, file: Path | None = None, near: bool = True) -> None:
        """`file` None: one that is gone afterwards."""
        self.near = near
        self.database = sqlite3.connect(str(file or ""))
        self.database.executescript(f"PRAGMA synchronous = OFF; {_TABLES}")

    def image(self, content: bytes) -> SeenImage:
        """Note an encoded image; `UserError` where it is none that can be read."""
        digest = xxhash.xxh128_digest(content)
        known = self.database.execute("SELECT alike FROM images WHERE digest = ?", (digest,)).fetchone()
        if known:
            return SeenImage(digest, known[0], False, False)
        image_type(content)
        alike, is_new_look = self._look(image_hash(content)) if self.near else (self._first(b""), True)
        self.database.execute("INSERT INTO images VALUES (?, ?)", (digest, alike))
        return SeenImage(digest, alike, True, is_new_look)

    def splits_of(self, kind: str, key: bytes) -> list[str]:
        """In which splits a key was noted."""
        found = self.database.execute("SELECT split FROM keys WHERE kind = ? AND key = ?", (kind, key))
        return [row[0] for row in found]

    def mark(self, kind: str, key: bytes, split: str = "") -> list[str]:
        """Note a key; returns the splits that had it before."""
        splits = self.splits_of(kind, key)
        if split not in splits:
            self.database.execute("INSERT INTO keys VALUES (?, ?, ?)", (kind, key, split))
        return splits

    def counted(self, kind: str, key: str) -> int:
        """How often a key was counted."""
        found = self.database.execute("SELECT count FROM counts WHERE kind = ? AND key = ?", (kind, key)).fetchone()
        return found[0] if found else 0

    def count(self, kind: str, key: str) -> None:
        """Once more."""
        row = (kind, key, self.counted(kind, key) + 1)
        self.database.execute("INSERT OR REPLACE INTO counts VALUES (?, ?, ?)", row)

    def close(self) -> None:
        self.database.close()

    def _look(self, bits: int) -> tuple[int, bool]:
        """The number of the first image that looks like it, and whether it is that itself. Others are compared with
        firsts only, which differ among themselves: so few of them share a band."""
        marks = bands(bits)
        asked = f"band IN ({','.join('?' * len(marks))})"
        rows = self.database.execute(
            f"SELECT DISTINCT alike, bits FROM bands JOIN firsts USING (alike) WHERE {asked} ORDER BY alike", marks
        )
        for alike, first in rows:
            if look_alike(bits, int.from_bytes(first, "big")):
                return alike, False
        alike = self._first(bits.to_bytes(NUM_BITS // 8, "big"))
        self.database.executemany("INSERT INTO bands VALUES (?, ?)", [(mark, alike) for mark in marks])
        return alike, True

    def _first(self, bits: bytes) -> int:
        number = self.database.execute("INSERT INTO firsts (bits) VALUES (?)", (bits,)).lastrowid
        assert number is not None
        return number

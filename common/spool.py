"""Spool: finished records on disk while a long conversion runs, so that a killed one goes on where it stopped.

The file begins with a line that says what the records depend on. Each entry is a line of JSON, {"key", "depends",
"fields", "records": [[name, bytes], ...]}, followed by the records themselves. A torn entry at the end is cut off.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import parse_json


class Spool:
    """`entries`: the fields of each key that is done. `names`: of all records."""

    def __init__(self, path: Path, depends: Any, depends_now: Callable[[str], Any]):
        """Continue the file when it was begun with the same `depends`, else begin a new one.

        An entry is done again when what it depends on is no longer what `depends_now` says of its key.
        """
        self.path = path
        self.entries: dict[str, dict[str, Any]] = {}
        self.names: dict[str, tuple[int, int]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(path, "a+b")  # noqa: SIM115 - closed by `remove`
        header = (json.dumps(depends) + "\n").encode()
        self._end = self._recover(header, depends_now)
        self._file.truncate(self._end)
        if not self._end:
            self._file.write(header)
            self._end = len(header)

    def _recover(self, header: bytes, depends_now: Callable[[str], Any]) -> int:
        """Read the complete entries; returns where they end."""
        self._file.seek(0, os.SEEK_END)
        num_bytes = self._file.tell()
        self._file.seek(0)
        if self._file.readline() != header:
            return 0
        end = len(header)
        while line := self._file.readline():
            try:
                entry = parse_json(line)
                size = sum(length for _, length in entry["records"])
                if end + len(line) + size > num_bytes:
                    break
                if depends_now(entry["key"]) == entry["depends"]:
                    self._note(entry, end + len(line))
            except (ValueError, KeyError, TypeError, UserError):
                break
            end += len(line) + size
            self._file.seek(end)
        return end

    def _note(self, entry: dict[str, Any], offset: int) -> None:
        for name, length in entry["records"]:
            if name in self.names:
                raise UserError(f"{entry['key']}: another trajectory gives the sample id {name} too")
            self.names[name] = (offset, length)
            offset += length
        self.entries[entry["key"]] = entry["fields"]

    def add(self, key: str, depends: Any, fields: dict[str, Any], records: list[tuple[str, bytes]]) -> None:
        """Append an entry and hand it to the system. Raises `UserError` when a record's name was there before."""
        sizes = [[name, len(record)] for name, record in records]
        entry = {"key": key, "depends": depends, "fields": fields, "records": sizes}
        line = (json.dumps(entry) + "\n").encode()
        self._note(entry, self._end + len(line))
        block = b"".join((line, *(record for _, record in records)))
        self._file.write(block)
        self._file.flush()
        self._end += len(block)

    def sorted_records(self) -> Iterator[bytes]:
        """All records in the order of their names."""
        for name in sorted(self.names):
            offset, length = self.names[name]
            yield os.pread(self._file.fileno(), length, offset)

    def remove(self) -> None:
        """The conversion is over."""
        self._file.close()
        self.path.unlink(missing_ok=True)

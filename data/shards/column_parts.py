"""A file of columns that takes long to make: what a killed command has written of it stays, and the next goes on there.

.<name>.parts/0000000128.parquet   rows; the number is that of the rows before them
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from data.shards.columns import read_record
from data.shards.parquet.parquet_file import count_rows, iter_batches


class ColumnParts:
    """The rows of `path` so far. The file itself appears when it is whole (`finish`)."""

    def __init__(self, path: Path, schema: pyarrow.Schema, record: Mapping[str, Any]) -> None:
        """`record` says what the rows are made of; parts that were made of something else are removed."""
        self.path, self.schema = path, schema.with_metadata({"made_of": json.dumps(record)})
        self.folder = path.with_name(f".{path.name}.parts")
        if any(read_record(part) != record for part in self._parts()):
            shutil.rmtree(self.folder)
        self.folder.mkdir(exist_ok=True)
        self.num_rows = sum(count_rows(part) for part in self._parts())

    def append(self, rows: list[dict[str, Any]]) -> None:
        """The next rows; once this returns, a kill does not lose them."""
        part = self.folder / f"{self.num_rows:010d}.parquet"
        temporary = part.with_suffix(".partial")
        parquet.write_table(pyarrow.Table.from_pylist(rows, self.schema), temporary, write_page_checksum=True)
        temporary.replace(part)
        self.num_rows += len(rows)

    def finish(self) -> None:
        """Put the parts together."""
        temporary = self.path.with_name(f".{self.path.name}.partial")
        with parquet.ParquetWriter(temporary, self.schema, write_page_checksum=True) as writer:
            for part in self._parts():
                for rows in iter_batches(part, self.schema.names):
                    writer.write_batch(rows)
        temporary.replace(self.path)
        shutil.rmtree(self.folder)

    def _parts(self) -> list[Path]:
        return sorted(self.folder.glob("*.parquet"))

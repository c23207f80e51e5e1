"""Records of a data set's file, whatever kind of file it is: JSON, JSON lines, Parquet, Arrow as `save_to_disk` writes
it, CSV."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.shown.terminal import in_short
from toolkits.readers.reading import packed
from toolkits.readers.reading.stream import open_text, stream_objects

_ROWS_AT_ONCE = 16
_LONGEST_FIELD = 2**28
_ARROW_FILE = b"ARROW1"
_JSON = (".jsonl", ".ndjson", ".json")


def rows_of(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(where it stands, a record) one by one; what is of no known ending is read as JSON.

    Raises:
        UserError: naming the file and the record.
    """
    ending = path.suffix.lower()
    if ending == ".parquet":
        from data.shards.parquet.parquet_file import iter_rows  # imported here, as below: pyarrow takes a second

        return _numbered(path, iter_rows(path))
    if ending in (".arrow", ".csv"):
        return _numbered(path, _arrow_rows(path) if ending == ".arrow" else _csv_rows(path))
    return stream_objects(path)


def json_files(folder: Path) -> list[Path]:
    """Those of a folder and below, packed ones too: JSON lines, else JSON; nothing that is hidden."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and not is_hidden(folder, path)]
    by_ending = [[path for path in found if _plain_ending(path) == ending] for ending in _JSON]
    return sorted(by_ending[0] + by_ending[1]) or by_ending[2]


def data_files(folder: Path) -> list[Path]:
    """Those of a folder and below that hold records, of one kind: `json_files`, else Parquet, else TFRecords."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and not is_hidden(folder, path)]
    parquet = [path for path in found if path.suffix.lower() == ".parquet"]
    return json_files(folder) or parquet or [path for path in found if "-of-" in path.name]


def is_json(path: Path) -> bool:
    """By its name."""
    return _plain_ending(path) in _JSON


def is_hidden(folder: Path, path: Path) -> bool:
    """Nothing of its owner's data: `.ipynb_checkpoints`, `._a.jsonl`, a cache."""
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def _plain_ending(path: Path) -> str:
    """`.jsonl` of `a.JSONL.gz`."""
    name = path.name.lower()
    around = next((ending for ending in packed.ENDINGS if name.endswith(ending)), "")
    return Path(name.removesuffix(around)).suffix


def _numbered(path: Path, rows: Iterator[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((f"{path}: row {number}", row) for number, row in enumerate(rows, start=1))


def _csv_rows(path: Path) -> Iterator[dict[str, Any]]:
    csv.field_size_limit(_LONGEST_FIELD)  # of its own it refuses a page's text of 131,072 letters
    try:
        with open_text(path, newline="") as file:
            yield from csv.DictReader(file, restkey="more")
    except UnicodeDecodeError:
        raise UserError(f"{path}: not a text file; give CSV in UTF-8 or UTF-16") from None
    except (*packed.DAMAGE, csv.Error) as error:
        raise UserError(f"{path}: not a CSV file ({in_short(str(error))})") from None


def _arrow_rows(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow
    from pyarrow import ipc

    try:
        with pyarrow.OSFile(str(path)) as source:
            is_file = source.read(len(_ARROW_FILE)) == _ARROW_FILE  # as polars and Feather write it
            source.seek(0)
            reader = ipc.open_file(source) if is_file else ipc.open_stream(source)
            for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader:
                batch.validate(full=True)
                for start in range(0, batch.num_rows, _ROWS_AT_ONCE):
                    yield from batch.slice(start, _ROWS_AT_ONCE).to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise UserError(f"{path}: not an Arrow file or a damaged one ({in_short(str(error))})") from None

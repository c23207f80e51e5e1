"""Columns: what is thought of samples, in Parquet files beside their shards, one row a sample.

    id        string: the sample's
    digest    of what the sample says: of two data sets whose ids are alike, it tells for which one a row was made
    <name>    a number: of the sample (weight, value, advantage, reward, ...)
    <name>    a list of numbers: one for each of its predicted tokens, in order (reference_logprobs, ...)

Shards hold what was seen and are written once; columns are written as often as somebody thinks anew, each file by one
command, and joined to the samples by their ids when these are read. A file may have more rows and columns than asked
for. Needs pyarrow (the extras `train` and `collect`).
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import xxhash
from pyarrow import compute, parquet

from common.errors import UserError
from common.files import make_folder, parse_json
from common.shown.tables import Table, print_table
from data.shards.parquet.parquet_file import is_list, is_number, read_all, read_schema, read_table

ID, DIGEST, REWARD, OUTCOME, GROUP = "id", "digest", "reward", "outcome", "group"


def digest_of(conversations: Sequence[Mapping[str, str]]) -> str:
    """16 hexadecimal digits of a sample's turns."""
    return xxhash.xxh3_64_hexdigest(json.dumps([[turn["from"], turn["value"]] for turn in conversations]).encode())


class ColumnFiles:
    """The columns that are wanted of some Parquet files, in memory. Each is in one of the files, or in none."""

    def __init__(self, paths: Sequence[Path], per_sample: Collection[str], per_token: Collection[str]) -> None:
        """
        Raises:
            UserError: a file is missing or no Parquet file, has no ids or one twice, or none of the columns; a column
                is in two files, or a number where a list is wanted, or the reverse.
        """
        self.paths, self._per_token = tuple(paths), frozenset(per_token)
        self._tables: dict[str, _Table] = {}
        for path in self.paths:
            names = names_in(path)
            wanted = [name for name in (*per_sample, *per_token) if name in names]
            if not wanted:
                asked = ", ".join((*per_sample, *per_token))
                said = f"none is a column that is wanted ({asked})" if asked else "no file of columns is wanted"
                raise UserError(f"{path}: has {', '.join(sorted(names))}; {said}")
            table = _Table(path, wanted, self._per_token)
            for name in wanted:
                if name in self._tables:
                    raise UserError(f"{path}: column {name} is in {self._tables[name].path} too; give one of them")
                self._tables[name] = table

    def __contains__(self, name: str) -> bool:
        """Whether a file has column `name`."""
        return name in self._tables

    def check(self, sample_id: str, fields: Mapping[str, Any]) -> None:
        """`UserError` where a file that says for which samples it was made, or by which verdicts, has none that is this
        one; `fields` is the sample's json member."""
        for table in {table.path: table for table in self._tables.values()}.values():
            if table.says(DIGEST) and table.value(DIGEST, sample_id).as_py() != digest_of(
                fields.get("conversations", ())
            ):
                raise UserError(f"{table.path}: sample {sample_id} said something else there; make it of these shards")
            for name, now in _judged(fields).items():
                if table.says(name) and (then := table.value(name, sample_id).as_py()) != now:
                    raise UserError(
                        f"{table.path}: sample {sample_id} had the {name} {then} there, and has {now} now; make it of "
                        "these shards"
                    )

    def made_of(self, name: str) -> dict[str, Any]:
        """The record of the file that has column `name`."""
        return read_record(self._tables[name].path) or {}

    def of_sample(self, name: str, sample_id: str) -> float:
        """A number of a sample; `UserError` when it has none, or it is not finite."""
        table = self._tables[name]
        value = table.value(name, sample_id).as_py()
        if value is None or not np.isfinite(value):
            raise UserError(f"{table.path}: sample {sample_id}: {name} is {value}, not a finite number")
        return float(value)

    def of_tokens(self, name: str, sample_id: str) -> np.ndarray:
        """A list of a sample as float32 [t]; `UserError` when it has none, or not all of it is finite."""
        table = self._tables[name]
        values = table.value(name, sample_id).values
        numbers = None if values is None else values.to_numpy(zero_copy_only=False).astype(np.float32)
        if numbers is None or not np.isfinite(numbers).all():
            raise UserError(f"{table.path}: sample {sample_id}: {name} is not a list of finite numbers")
        return numbers


def _judged(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Of a sample's json member what make_columns.sh writes of it, too."""
    if fields.get("candidate") or REWARD not in fields:
        return {}
    whole = fields.get("trajectory_reward")
    outcome = {OUTCOME: fields[REWARD] if whole is None else whole} if fields.get("done") else {}
    return {REWARD: fields[REWARD], **outcome, **({GROUP: fields[GROUP]} if GROUP in fields else {})}


class _Table:
    """Some columns of one file."""

    def __init__(self, path: Path, names: list[str], per_token: Collection[str]) -> None:
        self.path = path
        said = [name for name in (DIGEST, REWARD, OUTCOME, GROUP) if name in names_in(path)]
        kept = list(dict.fromkeys([*names, *said]))
        table = read_table(path, [ID, *kept])
        for name in names:
            kind = table.schema.field(name).type
            if name in per_token and not _is_numbers(kind):
                raise UserError(f"{path}: column {name} holds {kind}; one list of numbers a sample is wanted")
            if name not in per_token and not is_number(kind):
                raise UserError(f"{path}: column {name} holds {kind}; one number a sample is wanted")
        ids = table.column(ID).to_pylist()
        self._rows = {sample_id: row for row, sample_id in enumerate(ids)}
        if len(self._rows) < len(ids):
            twice = next(sample_id for row, sample_id in enumerate(ids) if self._rows[sample_id] != row)
            raise UserError(f"{path}: sample {twice} has two rows")
        self._columns = {name: table.column(name).chunk(0) for name in kept} if ids else {}

    def says(self, name: str) -> bool:
        """Whether it has this column."""
        return name in self._columns

    def value(self, name: str, sample_id: str) -> Any:
        """A pyarrow scalar."""
        row = self._rows.get(sample_id)
        if row is None:
            raise UserError(f"{self.path}: no row for sample {sample_id}; it was made for other samples")
        return self._columns[name][row]


def names_in(path: Path) -> set[str]:
    """The columns of a file beside its ids; `UserError` when it is no file of columns."""
    if not path.is_file():
        raise UserError(f"{path}: no such file of columns")
    names = set(read_schema(path).names)
    if ID not in names:
        raise UserError(f"{path}: has no column {ID}, the samples' ids")
    return names - {ID}


def read_record(path: Path) -> dict[str, Any] | None:
    """What a file says it was made of, in its metadata; None when it says nothing."""
    names_in(path)
    metadata = read_schema(path).metadata or {}
    try:
        record = parse_json(metadata.get(b"made_of", b"null"))
    except ValueError as error:
        raise UserError(f"{path}: what it says it was made of is not valid JSON ({error})") from None
    if not isinstance(record, dict | None):
        raise UserError(f"{path}: what it says it was made of is no object")
    return record


def read_rows(path: Path) -> list[dict[str, Any]]:
    """All of a file's rows, by column; `UserError` when it is no file of columns."""
    names_in(path)
    return read_all(path)


def is_written(path: Path, record: Mapping[str, Any]) -> bool:
    """Whether the file is there already; it is never replaced.

    Raises:
        UserError: it was made of something else than `record`, or its folder cannot be made.
    """
    make_folder(path.absolute().parent, "the folder of --output")
    if not path.exists():
        return False
    check_record(path, read_record(path) or {}, record)
    print(f"{path}: complete")
    return True


def check_record(path: Path, found: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    """`UserError` where a file's record, `found`, is not the one of a command that would write it."""
    changed = [name for name, value in record.items() if found.get(name) != value]
    if "algorithm" in changed and (options := changed_options(found.get("algorithm"), record["algorithm"])):
        changed[changed.index("algorithm")] = f"options ({', '.join(options)})"
    if changed:
        raise UserError(f"{path}: was made with different {', '.join(changed)}; give another --output, or remove it")


def changed_options(then: Any, now: Any) -> list[str]:
    """For each option that differs "horizon=20, not 4", of what two records say of one algorithm: its name, its class
    and its options. Of two algorithms, nothing."""
    if not (isinstance(then, str) and isinstance(now, str)) or then.partition(":")[0] != now.partition(":")[0]:
        return []
    before, after = dict(_OPTION.findall(then)), dict(_OPTION.findall(now))
    return [f"{name}={old}, not {after[name]}" for name, old in before.items() if after.get(name, old) != old]


_OPTION = re.compile(r"(\w+)=('[^']*'|[^,()]+)")


def print_columns(path: Path) -> None:
    """A table of a file's columns of numbers, also in lists: how many samples have some, how many these are and
    how many not 0, mean and extremes."""
    names_in(path)
    kinds = {field.name: field.type for field in read_schema(path)}
    table = read_table(path, [name for name, kind in kinds.items() if is_number(kind) or _is_numbers(kind)])
    report = Table(["column"], ["samples", "numbers", "not 0", "mean", "least", "most"])
    for name in table.column_names:
        column = table.column(name)
        given = len(column) - column.null_count
        if is_list(column.type):
            column = compute.call_function("list_flatten", [column])
        numbers = column.drop_null().to_numpy().astype(float)
        figures = (numbers.mean(), numbers.min(), numbers.max()) if len(numbers) else ()
        counts = (given, len(numbers), np.count_nonzero(numbers))
        report.add(name, *map(str, counts), *(f"{n:.4g}" for n in figures))
    print_table(report)
    print(f"{path}: {table.num_rows} samples")


def _is_numbers(kind: pyarrow.DataType) -> bool:
    return is_list(kind) and is_number(kind.value_type)


def write_columns(
    path: Path, tables: Iterable[list[dict[str, Any]]], schema: pyarrow.Schema, record: Mapping[str, Any]
) -> int:
    """Write rows, table by table, into a file that appears when it is whole; returns their number.

    `record` says what they were made of: shards, policy, options."""
    schema = schema.with_metadata({"made_of": json.dumps(record)})
    temporary = path.with_name(f".{path.name}.partial")
    count = 0
    with parquet.ParquetWriter(temporary, schema, write_page_checksum=True) as writer:
        for rows in tables:
            writer.write_table(pyarrow.Table.from_pylist(rows, schema))
            count += len(rows)
    temporary.replace(path)
    return count

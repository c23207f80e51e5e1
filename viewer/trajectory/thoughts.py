"""What is thought of a trajectory's steps: the rows of `<round>/columns/*.parquet`, by the ids of samples."""

import contextlib
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from data.samples.turn_samples import sample_head
from viewer.catalog.heads import LARGEST, as_number
from viewer.catalog.reading import inner_folder

COLUMNS, CANDIDATES = "columns", "candidates.parquet"
_ID = re.compile(r"(.+)--r\d\d--step(\d+)(?:--c(\d+))?")
_PARTS = r"^(?s:(?P<head>.+)--r[0-9][0-9]--step(?P<step>[0-9]+)(?:--c(?P<candidate>[0-9]+))?)$"
_MAX_BYTES = 2**30
_MOST = 10_000  # rows of one trajectory in a file

Numbers = dict[str, float | None]  # None: NaN, or too large to show
_Ranked = dict[str, tuple[float, float]]


class Thoughts:
    """Those of one set. The files hold as many rows as all its steps: of these only the first values and the furthest
    advantages are kept, until a file changes; one trajectory's rows are read when it is looked at."""

    def __init__(self, folder: Path):
        self.folder = folder / COLUMNS
        self._stamp: list[tuple[str, int]] = []
        self._summaries: dict[str, tuple[float | None, float | None]] = {}
        self._lock = threading.Lock()

    def of(self, task: str, run: int | None) -> dict[tuple[int, int], Numbers]:
        """Numbers by step and candidate (0: the action that was taken)."""
        found: dict[tuple[int, int], Numbers] = {}
        head = sample_head(task, run)
        for path in self._files():
            with contextlib.suppress(Exception):  # it is being written, or is none (pyarrow raises many kinds)
                for sample, row in _numbers(path, f"{head}--r"):
                    match = _ID.fullmatch(sample)
                    if match and match[1] == head:
                        found.setdefault((int(match[2]), int(match[3] or 0)), {}).update(row)
        return found

    def lists(self, task: str, run: int | None, of_texts: bool) -> dict[int, dict[str, list[Any]]]:
        """Lists by step and name, of texts (the candidates' replies) or of numbers (of each predicted token). They are
        not kept."""
        found: dict[int, dict[str, list[Any]]] = {}
        for path in [*self._files(), *_usable([self.folder.parent / CANDIDATES])]:
            with contextlib.suppress(Exception):  # as in `of`
                for sample, row in _lists(path, f"{sample_head(task, run)}--r", of_texts):
                    match = _ID.fullmatch(sample)
                    if match and match[1] == sample_head(task, run) and not match[3]:
                        found.setdefault(int(match[2]), {}).update(row)
        return found

    def summaries(self) -> dict[str, tuple[float | None, float | None]]:
        """The first step's value and the advantage furthest from 0, by how ids of the trajectory's samples begin."""
        with self._lock:
            files = self._files()
            stamp = [(path.name, path.stat().st_mtime_ns) for path in files]
            if stamp != self._stamp:
                values: _Ranked = {}
                advantages: _Ranked = {}
                for path in files:
                    with contextlib.suppress(Exception):  # as in `of`
                        _rank(path, values, advantages)
                self._stamp = stamp
                heads = values.keys() | advantages.keys()
                self._summaries = {head: (_ranked(values, head), _ranked(advantages, head)) for head in heads}
            return self._summaries

    def _files(self) -> list[Path]:
        if inner_folder(self.folder.parent, COLUMNS) is None:
            return []
        return _usable(sorted(self.folder.glob("*.parquet")))


def _ranked(found: _Ranked, head: str) -> float | None:
    return as_number(found[head][1]) if head in found else None


def _usable(paths: Sequence[Path]) -> list[Path]:
    return [one for one in paths if one.is_file() and not one.is_symlink() and one.stat().st_size <= _MAX_BYTES]


def _rank(path: Path, values: _Ranked, advantages: _Ranked) -> None:
    """Keep those of least rank: of values the first step's, of advantages the furthest from 0."""
    from data.shards.columns import ID  # imported here, as below: most runs have no columns, and pyarrow takes 60 MB
    from data.shards.parquet.parquet_file import iter_batches

    names = _number_columns(path)
    wanted = [name for name in ("value", "value_1", "advantage") if name in names]
    if wanted:
        for rows in iter_batches(path, [ID, *wanted]):
            _rank_rows(rows, wanted, values, advantages)


def _rank_rows(table: Any, wanted: Sequence[str], values: _Ranked, advantages: _Ranked) -> None:
    import numpy as np
    from pyarrow import compute

    from data.shards.columns import ID

    parts = compute.call_function("extract_regex", [table[ID]], compute.ExtractRegexOptions(_PARTS))
    heads, steps, candidates = parts.flatten()
    is_taken = compute.call_function("equal", [candidates, ""]).fill_null(False).to_numpy(zero_copy_only=False)
    encoded = heads.dictionary_encode()
    codes = encoded.indices.fill_null(0).to_numpy()
    numbers = steps.fill_null("0").cast("float64").to_numpy()
    for name in wanted:
        column = table[name].to_numpy(zero_copy_only=False).astype(np.float64)
        is_there = table[name].is_valid().to_numpy(zero_copy_only=False)  # a first value that is NaN stays the first
        rows = np.flatnonzero(is_taken & (np.abs(column) < LARGEST if name == "advantage" else is_there))
        ranks = -np.abs(column) if name == "advantage" else 2 * numbers + (name == "value_1")
        rows = rows[np.lexsort((ranks[rows], codes[rows]))]
        _, first = np.unique(codes[rows], return_index=True)
        into = advantages if name == "advantage" else values
        for row in rows[first]:
            head, ranked = encoded.dictionary[int(codes[row])].as_py(), (float(ranks[row]), column[row].item())
            into[head] = min(into.get(head, ranked), ranked)


def _number_columns(path: Path) -> list[str]:
    from data.shards.parquet.parquet_file import is_number, read_schema

    return [one.name for one in read_schema(path) if is_number(one.type)]


def _numbers(path: Path, begins: str) -> Iterator[tuple[str, Numbers]]:
    """(id, numbers by name) of the rows whose ids begin so."""
    for sample, row in _rows(path, begins, _number_columns(path)):
        yield sample, {name: as_number(value) for name, value in row.items() if value is not None}


def _lists(path: Path, begins: str, of_texts: bool) -> Iterator[tuple[str, dict[str, list[Any]]]]:
    """(id, lists by name) of the rows whose ids begin so."""
    from pyarrow import types

    from data.shards.parquet.parquet_file import read_schema

    schema, is_wanted = read_schema(path), types.is_string if of_texts else types.is_floating
    kept = [one.name for one in schema if types.is_list(one.type) and is_wanted(one.type.value_type)]
    for sample, row in _rows(path, begins, kept):
        yield sample, {name: row[name] for name in kept if row[name]}


def _rows(path: Path, begins: str, names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    from pyarrow import compute

    from data.shards.columns import ID
    from data.shards.parquet.parquet_file import iter_batches

    if names:
        left = _MOST
        for rows in iter_batches(path, [ID, *names]):
            batch = rows.filter(compute.call_function("starts_with", [rows[ID]], compute.MatchSubstringOptions(begins)))
            for row in batch[:left].to_pylist():
                yield str(row.pop(ID)), row
            left -= min(left, len(batch))
            if not left:
                return

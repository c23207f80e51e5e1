"""Index: the heads of all trajectories, kept in an SQLite file: a folder is read once, and again when it changes.

A folder's stamp is its own time of change: with each step files appear in it, and at the end by renaming. Verdicts of
other judges, a person's among them, lie beside the set (`.agreement/<judge>/<name>.json`).
"""

import contextlib
import dataclasses
import json
import os
import sqlite3
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.trajectory import AGREEMENT
from toolkits.viewer.heads import Head, bare_head, read_head, read_verdict
from toolkits.viewer.opened import OpenedRun, TrajectorySet, discover, is_plain, plain_folders, trajectory_folders

_FIELDS = [field.name for field in dataclasses.fields(Head)]
_SHOWN = [name for name in _FIELDS if name != "text"]
_CHUNK = 100  # folders read before others see them
_EVERY_S, _IDLE_S = 2.0, 15.0
_VERSION = 1


class Index:
    """Thread-safe. `generation` grows with every change; `num_unread` folders are known by their names only (None: not
    counted yet), `num_left_out` of each run cannot be named."""

    def __init__(self, roots: Sequence[Path], file: Path | None = None):
        self.roots, self.runs = list(roots), discover(roots)
        self.generation = 0
        self.num_unread: int | None = None
        self.num_left_out: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._asked_at = time.monotonic()
        self._database = _opened(file)
        self._cached: dict[tuple[str, int], bytes] = {}

    def start(self) -> None:
        """Keep up with what is written, while somebody looks."""
        threading.Thread(target=self._keep_up, daemon=True).start()

    def touch(self) -> None:
        """Somebody looks."""
        self._asked_at = time.monotonic()

    def refresh(self) -> None:
        """Read what is new or changed since the last time."""
        self.runs = discover(self.roots)
        unread: list[tuple[TrajectorySet, str, int, list[str]]] = []
        left_out: Counter[str] = Counter()
        for key, one in [(run.key, one) for run in self.runs for one in run.sets]:
            judges = _judges_of(one.path)
            known = dict(self._ask("SELECT name, stamp FROM heads WHERE folder = ?", str(one.path)))
            try:
                stamps = {entry.name: _stamp(entry, judges) for entry in trajectory_folders(one.path)}
                left_out[key] += sum(
                    entry.name.startswith("task") and not is_plain(entry.name) for entry in os.scandir(one.path)
                )
            except OSError:  # the set is being moved away
                stamps = {}
            self._write([(one, bare_head(name), 0, 0) for name in stamps.keys() - known.keys()])
            if gone := known.keys() - stamps.keys():
                self._change(
                    "DELETE FROM heads WHERE folder = ? AND name = ?", [(str(one.path), name) for name in gone]
                )
            changed = (name for name, stamp in stamps.items() if known.get(name, 0) != stamp)
            unread += [(one, name, stamps[name], judges.get(name, [])) for name in sorted(changed)]
        self.num_unread, self.num_left_out = len(unread), left_out
        for begin in range(0, len(unread), _CHUNK):
            made = []
            for one, name, stamp, judges in unread[begin : begin + _CHUNK]:
                head = read_head(one.path / name)
                made.append((one, head, stamp, _disagrees(one.path, head, judges)))
            self._write(made)
            self.num_unread = max(0, len(unread) - begin - _CHUNK)

    def rows(self, run: OpenedRun) -> bytes:
        """JSON of {name of a field: values}, of all trajectories of a run; `set` is a number of its sets."""
        key = (run.key, self.generation)
        if (kept := self._cached.get(key)) is None:
            folders = [str(one.path) for one in run.sets]
            found = self._ask(
                f"SELECT id, folder, stamp / 1000000000, disagrees, {', '.join(_SHOWN)} FROM heads "
                f"WHERE folder IN ({','.join('?' * len(folders))}) ORDER BY folder, name",
                *folders,
            )
            names = ["id", "set", "changed", "disagrees", *_SHOWN]
            table = (
                dict(zip(names, map(list, zip(*found, strict=True)), strict=True)) if found else {n: [] for n in names}
            )
            places = {folder: place for place, folder in enumerate(folders)}
            table["set"] = [places[folder] for folder in table["set"]]
            made = json.dumps({"columns": table, "sets": [one.key for one in run.sets]}).encode()
            self._cached = {key: made}
            return made
        return kept

    def search(self, words: str) -> list[int]:
        """The ids of trajectories whose task, thoughts or actions hold all the words."""
        asked = words.lower().split()[:8]
        where = " AND ".join(["instr(text, ?)"] * len(asked)) or "1"
        return [row[0] for row in self._ask(f"SELECT id FROM heads WHERE {where}", *asked)]

    def heads(self, one: TrajectorySet) -> list[Head]:
        """All of a set, without their texts."""
        found = self._ask(f"SELECT {', '.join(_SHOWN)} FROM heads WHERE folder = ?", str(one.path))
        return [Head(*row) for row in found]

    def newest(self, outcome: str, since_s: float) -> list[tuple[TrajectorySet, Head, float]]:
        """Those of an outcome that changed since then, the newest first, with when they did (seconds since 1970)."""
        sets = {str(one.path): one for run in self.runs for one in run.sets}
        found = self._ask(
            f"SELECT folder, stamp, {', '.join(_SHOWN)} FROM heads WHERE outcome = ? AND stamp > ? ORDER BY stamp DESC",
            outcome,
            round(since_s * 1e9),
        )
        return [(sets[row[0]], Head(*row[2:]), row[1] / 1e9) for row in found if row[0] in sets]

    def find(self, key: str, name: str) -> tuple[TrajectorySet, Path] | None:
        """A trajectory that was found on disk, by its set's key and its own name."""
        for one in (one for run in self.runs for one in run.sets if one.key == key):
            if self._ask("SELECT 1 FROM heads WHERE folder = ? AND name = ?", str(one.path), name):
                return one, one.path / name
        return None

    def find_run(self, key: str) -> OpenedRun | None:
        """A run that was found on disk, by its key."""
        return next((run for run in self.runs if run.key == key), None)

    def _keep_up(self) -> None:
        while True:
            if time.monotonic() - self._asked_at < _IDLE_S:
                with contextlib.suppress(UserError):  # a folder was moved away
                    self.refresh()
            time.sleep(_EVERY_S)

    def _write(self, heads: Sequence[tuple[TrajectorySet, Head, int, int]]) -> None:
        rows = [(str(one.path), stamp, other, *vars(head).values()) for one, head, stamp, other in heads]
        marks = ", ".join("?" * (3 + len(_FIELDS)))
        updates = ", ".join(f"{name} = excluded.{name}" for name in ("stamp", "disagrees", *_FIELDS))
        self._change(
            f"INSERT INTO heads (folder, stamp, disagrees, {', '.join(_FIELDS)}) VALUES ({marks}) "
            f"ON CONFLICT (folder, name) DO UPDATE SET {updates}",
            rows,
        )

    def _change(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            with self._lock, self._database:
                self._database.executemany(statement, rows)
            self.generation += 1

    def _ask(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._database.execute(statement, values).fetchall()


def _opened(file: Path | None) -> sqlite3.Connection:
    """The index on disk; where that cannot be, one that ends with this process."""
    if file is None:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        file = base / "elcano" / f"viewer-{_VERSION}.sqlite"
    for find_place in (lambda: file, lambda: Path(tempfile.mkdtemp(prefix="elcano-view-")) / "index.sqlite"):
        with contextlib.suppress(OSError, sqlite3.Error):
            place = find_place()
            place.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(place, check_same_thread=False, timeout=10)
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = OFF")  # it can be made again
            database.execute(
                "CREATE TABLE IF NOT EXISTS heads (id INTEGER PRIMARY KEY, folder TEXT, stamp INTEGER, "
                f"disagrees INTEGER, {', '.join(_FIELDS)}, UNIQUE (folder, name))"
            )
            return database
    raise UserError(f"{file}: no index can be kept there, nor in the folder for temporary files; set XDG_CACHE_HOME")


def _judges_of(path: Path) -> dict[str, list[tuple[str, int]]]:
    """(judge, time of change) of the verdicts beside a set, by trajectory."""
    found: dict[str, list[tuple[str, int]]] = {}
    for judge in plain_folders(path / AGREEMENT):
        with os.scandir(judge) as entries:
            for entry in entries:
                changed = entry.stat(follow_symlinks=False).st_mtime_ns
                found.setdefault(entry.name.removesuffix(".json"), []).append((judge.name, changed))
    return found


def _stamp(entry: os.DirEntry, judges: dict[str, list[tuple[str, int]]]) -> int:
    return max([entry.stat(follow_symlinks=False).st_mtime_ns, *(when for _, when in judges.get(entry.name, []))])


def _disagrees(path: Path, head: Head, judges: Sequence[tuple[str, int]]) -> int:
    """Whether another judge says something else."""
    for judge, _ in judges:
        with contextlib.suppress(UserError):
            verdict = read_verdict(path / AGREEMENT / judge, f"{head.name}.json")
            if verdict and verdict.verdict != head.outcome:
                return 1
    return 0

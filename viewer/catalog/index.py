"""Index: the heads of all trajectories, kept in an SQLite file: a folder is read once, and again when it changes.

A folder's stamp is made of its own time of change (with each step files appear in it, and at the end by renaming) and
of those of other judges' verdicts, a person's among them, which lie beside the set (`.agreement/<judge>/<name>.json`).
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import user_cache
from data.outcome import Verdict
from data.trajectory import AGREEMENT
from viewer.catalog.heads import Head, bare_head, folded, read_head, read_verdict, shortened
from viewer.catalog.opened import OpenedRun, TrajectorySet, check_roots, discover, trajectory_folders
from viewer.catalog.reading import is_folder, is_plain, plain_folders

_FIELDS = [field.name for field in dataclasses.fields(Head)]
_SHOWN = [name for name in _FIELDS if name != "text"]
_IN_ROWS = [name for name in _SHOWN if name not in ("policy", "status")]
_FIRST_CHUNK, _CHUNK = 100, 400  # folders read before others see them; a page of the table first
_PATIENCE_S = 5.0  # of a question about rows for the first of them
_PAUSE_S = 1.0  # of reading, for answers
_EVERY_S, _MOST_OF_A_CORE, _IDLE_S = 2.0, 0.02, 15.0
_MAX_WORDS = 200
_VERSION = 6
_LARGEST = 2**63 - 1  # number that SQLite keeps


@dataclasses.dataclass(frozen=True)
class _Unread:
    """A folder to be read. `judges` are those whose verdicts lie beside its set."""

    set: TrajectorySet
    name: str
    stamp: int
    changed: int
    judges: list[tuple[str, int]]
    is_new: bool


class Index:
    """Thread-safe. `num_unread` folders are known by their names only (None: not counted yet), `num_left_out` of each
    run cannot be named. `problem` says why nothing new can be read, where that is so."""

    def __init__(self, roots: Sequence[Path], file: Path | None = None):
        check_roots(roots)
        self.roots, self.runs = list(roots), discover(roots)
        self._generation, self._others_changes = 0, 0
        self.num_unread: int | None = None
        self.num_left_out: Counter[str] = Counter()
        self.problem = ""
        self._lock = threading.Lock()
        self._is_asked, self._has_begun = threading.Event(), threading.Event()
        self._answering: list[bool] = []
        self._asked_at, self._looking_s = time.monotonic(), 0.0
        self._database, self._file = _opened(file)
        self._cached: dict[tuple[str, int], bytes] = {}
        sets = [str(one.path) for run in self.runs for one in run.sets]
        if any(self._ask("SELECT 1 FROM heads WHERE folder = ? LIMIT 1", one) for one in sets):
            self._has_begun.set()  # what was read the last time is shown at once

    @property
    def generation(self) -> int:
        """Grows with every change, also of another viewer that keeps the same file."""
        [[changes]] = self._ask("PRAGMA data_version") or [[0]]
        if changes != self._others_changes:
            self._others_changes = changes
            self._generation += 1
        return self._generation

    @property
    def gone(self) -> list[str]:
        """The opened folders that are no longer there."""
        return [root.name for root in self.roots if not is_folder(root)]

    def start(self) -> None:
        """Keep up with what is written, while somebody looks."""
        self._is_asked.set()
        threading.Thread(target=self._keep_up, daemon=True).start()

    @contextlib.contextmanager
    def asked(self) -> Iterator[None]:
        """Somebody looks, and is answered before more is read."""
        self._is_asked.set()
        self._answering.append(True)
        self._asked_at = time.monotonic()
        try:
            yield
        finally:
            self._answering.pop()

    def refresh(self) -> None:
        """Read what is new or changed since the last time."""
        begun = time.thread_time()
        runs = discover(self.roots)
        self._generation += runs != self.runs
        self.runs = runs
        unread: list[_Unread] = []
        left_out: Counter[str] = Counter()
        for key, one in [(run.key, one) for run in self.runs for one in run.sets]:
            judges = _judges_of(one.path)
            known = dict(self._ask("SELECT name, stamp FROM heads WHERE folder = ?", str(one.path)))
            try:
                times = _times_of(one.path)
                left_out[key] += sum(
                    entry.name.startswith("task") and not is_plain(entry.name) for entry in os.scandir(one.path)
                )
            except OSError:  # it is being moved away, or may not be read for now: what is known of it stays
                continue
            stamps = {name: _stamp(changed, judges.get(name, [])) for name, changed in times.items()}
            if gone := known.keys() - stamps.keys():
                self._change(
                    "DELETE FROM heads WHERE folder = ? AND name = ?", [(str(one.path), name) for name in gone]
                )
            unread += [
                _Unread(one, name, stamp, times[name], judges.get(name, []), name not in known)
                for name, stamp in stamps.items()
                if known.get(name) != stamp
            ]
        unread.sort(key=lambda one: one.name)  # as the table does
        self.num_unread, self.num_left_out = len(unread), left_out
        self._looking_s = time.thread_time() - begun
        self._read(unread[:_FIRST_CHUNK])
        self._has_begun.set()
        later = unread[_FIRST_CHUNK:]
        self._write([(one.set, bare_head(one.name), None, one.changed, 0) for one in later if one.is_new])
        for begin in range(0, len(later), _CHUNK):
            self._read(later[begin : begin + _CHUNK])

    def rows(self, run: OpenedRun) -> bytes:
        """JSON of {name of a field: values}, of all trajectories of a run; `set` is a number of its sets."""
        self._has_begun.wait(_PATIENCE_S)
        key = (run.key, self.generation)
        if (kept := self._cached.get(key)) is None:
            folders = [str(one.path) for one in run.sets]
            found = self._ask(
                f"SELECT id, folder, disagrees, {', '.join(_IN_ROWS)} FROM heads "
                f"WHERE folder IN ({','.join('?' * len(folders))}) ORDER BY folder, name",
                *folders,
            )
            names = ["id", "set", "disagrees", *_IN_ROWS]
            table = (
                dict(zip(names, map(list, zip(*found, strict=True)), strict=True)) if found else {n: [] for n in names}
            )
            places = {folder: place for place, folder in enumerate(folders)}
            table["set"] = [places[folder] for folder in table["set"]]
            sets, rounds = [one.key for one in run.sets], [one.round for one in run.sets]
            made = json.dumps(
                {"columns": table, "sets": sets, "rounds": rounds, "num_unread": self.num_unread}
            ).encode()
            self._cached = {key: made}
            return made
        return kept

    def search(self, run: OpenedRun, words: str) -> list[int]:
        """The ids of a run's trajectories whose task, thoughts or actions hold all the words, wherever they stand."""
        folders, asked = [str(one.path) for one in run.sets], folded(words).split()[:_MAX_WORDS]
        where = "".join([" AND instr(text, ?)"] * len(asked))
        statement = f"SELECT id FROM heads WHERE folder IN ({','.join('?' * len(folders))}){where}"
        return [row[0] for row in self._ask(statement, *folders, *asked)]

    def heads(self, one: TrajectorySet) -> list[Head]:
        """All of a set, without their texts."""
        found = self._ask(f"SELECT {', '.join(_SHOWN)} FROM heads WHERE folder = ?", str(one.path))
        return [Head(*row) for row in found]

    def newest(self, since_s: float, outcomes: Sequence[str], most: int) -> list[tuple[TrajectorySet, Head, float]]:
        """Those of some outcomes that changed since then, the newest first, with when they did (seconds since 1970)."""
        sets = {str(one.path): one for run in self.runs for one in run.sets}
        marks, folders = (",".join("?" * len(those)) for those in (outcomes, sets))
        found = self._ask(
            f"SELECT folder, changed, {', '.join(_SHOWN)} FROM heads WHERE changed > ? AND outcome IN ({marks}) "
            f"AND +folder IN ({folders}) ORDER BY changed DESC LIMIT ?",
            *(round(since_s * 1e9), *outcomes, *sets, most),
        )
        return [(sets[row[0]], Head(*row[2:]), row[1] / 1e9) for row in found]

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
        while self._is_asked.wait():
            problem = ""
            try:
                self.refresh()
            except Exception as error:  # a full disk, say: it is told, and reading goes on
                problem = f"what is new cannot be read for now: {shortened(str(error) or repr(error))}"
            self._generation += problem != self.problem
            self.problem = problem
            time.sleep(max(_EVERY_S, self._looking_s / _MOST_OF_A_CORE))
            if time.monotonic() - self._asked_at > _IDLE_S:
                self._is_asked.clear()

    def _read(self, unread: Sequence[_Unread]) -> None:
        made = []
        for one in unread:
            while self._answering and self._has_begun.is_set() and time.monotonic() - self._asked_at < _PAUSE_S:
                time.sleep(0.005)
            head = read_head(one.set.path / one.name)
            made.append((one.set, head, one.stamp, one.changed, _disagrees(one.set.path, head, one.judges)))
        self.num_unread = max(0, (self.num_unread or 0) - len(made))
        self._write(made)

    def _write(self, heads: Sequence[tuple[TrajectorySet, Head, int | None, int, int]]) -> None:
        rows = [(str(one.path), *known, *vars(head).values()) for one, head, *known in heads]
        marks = ", ".join("?" * (4 + len(_FIELDS)))
        updates = ", ".join(f"{name} = excluded.{name}" for name in ("stamp", "changed", "disagrees", *_FIELDS))
        self._change(
            f"INSERT INTO heads (folder, stamp, changed, disagrees, {', '.join(_FIELDS)}) VALUES ({marks}) "
            f"ON CONFLICT (folder, name) DO UPDATE SET {updates}",
            rows,
        )

    def _change(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            with self._intact() as database, database:
                database.executemany(statement, rows)
            self._generation += 1

    def _ask(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        with self._intact() as database:
            found = database.execute(statement, values).fetchall()
        return found

    @contextlib.contextmanager
    def _intact(self) -> Iterator[sqlite3.Connection]:
        """What was kept; a damaged file gives way to an empty one, and is read anew."""
        with self._lock:
            try:
                yield self._database
            except sqlite3.DatabaseError as error:
                if type(error) is not sqlite3.DatabaseError:  # the others are of a full disk, say, or of a statement
                    raise
                self._database.close()
                for end in ("", "-wal", "-shm"):
                    with contextlib.suppress(OSError):  # it may not be ours to take away
                        Path(f"{self._file}{end}").unlink()
                self._database, self._file = _opened(self._file)
                self._is_asked.set()


def _opened(file: Path | None) -> tuple[sqlite3.Connection, Path]:
    """The index on disk; where that cannot be, a temporary file of SQLite's own that goes with this process."""
    if file is None:
        file = user_cache() / f"viewer-{_VERSION}.sqlite"
    for place in (file, ""):
        with contextlib.suppress(OSError, sqlite3.Error):
            if place:
                file.parent.mkdir(parents=True, exist_ok=True)
                _keep_private(file)
            database = sqlite3.connect(place, check_same_thread=False, timeout=10)
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute(
                "CREATE TABLE IF NOT EXISTS heads (id INTEGER PRIMARY KEY, folder TEXT, stamp INTEGER, "
                f"changed INTEGER, disagrees INTEGER, {', '.join(_FIELDS)}, UNIQUE (folder, name))"
            )
            database.execute("CREATE INDEX IF NOT EXISTS newest ON heads (changed)")
            database.execute(f"PRAGMA user_version = {_VERSION}")  # fails where nothing can be written
            return database, file
    raise UserError(f"{file}: no index can be kept there, nor in the folder for temporary files; set XDG_CACHE_HOME")


def _keep_private(file: Path) -> None:
    """What it holds may be of runs that are this user's alone; the files that SQLite puts beside it have its rights."""
    kept = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(kept, 0o600)
    finally:
        os.close(kept)


def _judges_of(path: Path) -> dict[str, list[tuple[str, int]]]:
    """(judge, time of change) of the verdicts beside a set, by trajectory."""
    found: dict[str, list[tuple[str, int]]] = {}
    for judge in plain_folders(path / AGREEMENT):
        with contextlib.suppress(OSError), os.scandir(judge) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # taken away meanwhile
                    if not entry.name.startswith("."):  # as what is being written is named
                        changed = entry.stat(follow_symlinks=False).st_mtime_ns
                        found.setdefault(entry.name.removesuffix(".json"), []).append((judge.name, changed))
    return found


def _times_of(path: Path) -> dict[str, int]:
    """When each trajectory folder of a set changed; `OSError` where they cannot be listed."""
    found: dict[str, int] = {}
    for entry in trajectory_folders(path):
        with contextlib.suppress(FileNotFoundError):  # it went meanwhile, and the others are still there
            found[entry.name] = min(entry.stat(follow_symlinks=False).st_mtime_ns, _LARGEST)
    return found


def _stamp(changed: int, judges: Sequence[tuple[str, int]]) -> int:
    """Another one after each change, whichever clock it was by, and when a verdict is taken away."""
    if not judges:
        return changed
    return int.from_bytes(hashlib.blake2b(repr((changed, judges)).encode(), digest_size=7).digest())


def _disagrees(path: Path, head: Head, judges: Sequence[tuple[str, int]]) -> int:
    """Whether two judges, of which the trajectory's own is one, say different things."""
    said = {head.outcome} & {*Verdict}
    for judge, _ in judges:
        with contextlib.suppress(UserError):
            if verdict := read_verdict(path / AGREEMENT / judge, f"{head.name}.json"):
                said.add(verdict.verdict)
    return int(len(said) > 1)

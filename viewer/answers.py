"""What the pages ask for, by name: each answer is JSON, made of the index and of the one folder that is looked at."""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.samples.turn_samples import sample_head
from viewer.catalog.index import Index
from viewer.catalog.opened import OpenedRun, TrajectorySet
from viewer.catalog.reading import read
from viewer.compare import compare_sets
from viewer.live import wall
from viewer.reports import read_report, read_tile
from viewer.runs import curves, run_page, written
from viewer.thumbnail import thumbnail
from viewer.trajectory.detail import read_detail
from viewer.trajectory.prompt import read_prompt
from viewer.trajectory.thoughts import Thoughts
from viewer.trajectory.tokens import read_tokens

_MAX_PIXELS = 50_000_000
_PNG = b"\x89PNG\r\n\x1a\n"


class NotFoundError(UserError):
    """Nothing of that name was found on disk."""


class Answers:
    """Of one index. `parameters` are a request's own words: keys that are looked up, numbers, words to search for."""

    def __init__(self, index: Index, reports: Mapping[str, Path] | None = None):
        """`reports`: on data, by what browsers call them."""
        self.index, self.reports = index, dict(reports or {})
        self._thoughts: dict[Path, Thoughts] = {}
        self.by_name: dict[str, Callable[[Mapping[str, str]], Any]] = {
            "state": self._state,
            "run": lambda given: run_page(index, self._run(given), time.time()),
            "curves": lambda given: curves(self._run(given)),
            "rows": lambda given: json.loads(index.rows(self._run(given))),
            "search": lambda given: index.search(self._run(given), given.get("words", "")),
            "thoughts": self._summaries,
            "trajectory": self._trajectory,
            "prompt": lambda given: read_prompt(self.found(given)[1], _number(given)),
            "tokens": self._tokens,
            "compare": lambda given: compare_sets(index, *self._sets(given, "before", "after")),
            "live": lambda given: wall(index, time.time()),
            "report": lambda given: read_report(self._report(given)),
        }

    def answer(self, name: str, given: Mapping[str, str]) -> bytes:
        """JSON; `NotFoundError` for what is not there."""
        if name not in self.by_name:
            raise NotFoundError("no such answer")
        with self.index.asked():
            if name == "rows":  # as it is kept
                return self.index.rows(self._run(given))
            return json.dumps(self.by_name[name](given), allow_nan=False).encode()

    def screenshot(self, given: Mapping[str, str]) -> bytes:
        """A PNG; `UserError` says why there is none."""
        _, folder = self.found(given)
        name = f"screenshot{_number(given)}.png"
        content = read(folder, name)
        if content is None:
            raise NotFoundError(f"{name} is missing")
        width, height = (int.from_bytes(content[at : at + 4]) for at in (16, 20))
        if not content.startswith(_PNG) or not 0 < width * height <= _MAX_PIXELS:
            raise UserError(f"{name}: not a PNG of a usual size")
        return content

    def thumbnail(self, given: Mapping[str, str]) -> bytes:
        """The same as a small JPEG."""
        path = self.found(given)[1] / f"screenshot{_number(given)}.png"
        try:
            status = path.lstat()
        except OSError:
            raise NotFoundError(f"{path.name} is missing") from None
        return thumbnail((path, status.st_mtime_ns, status.st_size), lambda: self.screenshot(given))

    def tile(self, given: Mapping[str, str]) -> bytes:
        """A JPEG of a report; `UserError` says why there is none."""
        number = given.get("number", "")
        return read_tile(self._report(given), int(number) if number.isascii() and number.isdigit() else -1)

    def _report(self, given: Mapping[str, str]) -> Path:
        if (file := self.reports.get(given.get("report", ""))) is None:
            raise NotFoundError("no such report among those that were opened")
        return file

    def found(self, given: Mapping[str, str]) -> tuple[TrajectorySet, Path]:
        """The trajectory that a request names."""
        found = self.index.find(given.get("set", ""), given.get("name", ""))
        if found is None:
            raise NotFoundError("no such trajectory; it may have been taken again")
        return found

    def _run(self, given: Mapping[str, str]) -> OpenedRun:
        run = self.index.find_run(given.get("run", ""))
        if run is None:
            gone = "".join(f"; {name} is no longer there" for name in self.index.gone)
            raise NotFoundError(f"no such run among those that were opened{gone}")
        return run

    def _sets(self, given: Mapping[str, str], *names: str) -> list[TrajectorySet]:
        by_key = {one.key: one for run in self.index.runs for one in run.sets}
        if missing := [name for name in names if given.get(name) not in by_key]:
            raise NotFoundError(f"no such set of trajectories: {missing[0]}")
        return [by_key[given[name]] for name in names]

    def _state(self, given: Mapping[str, str]) -> dict[str, Any]:
        runs = [
            {"key": run.key, "sets": [one.key for one in run.sets], "written": written(run)} for run in self.index.runs
        ]
        known = {"generation": self.index.generation, "num_unread": self.index.num_unread}
        known |= {"reports": list(self.reports)} if self.reports else {}
        return {**known, "runs": runs, "gone": self.index.gone, "problem": self.index.problem}

    def _trajectory(self, given: Mapping[str, str]) -> dict[str, Any]:
        one, folder = self.found(given)
        return read_detail(one, folder, self._thoughts_of(one))

    def _tokens(self, given: Mapping[str, str]) -> dict[str, Any]:
        one, folder = self.found(given)
        return read_tokens(self._run({"run": one.run}), one, folder)

    def _summaries(self, given: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """First value and furthest advantage by set and name, where files of columns lie beside a set."""
        found: dict[str, dict[str, Any]] = {}
        for one in self._run(given).sets:
            if known := self._thoughts_of(one).summaries():
                heads = ((head.name, sample_head(head.task, head.run)) for head in self.index.heads(one))
                found[one.key] = {name: known[start] for name, start in heads if start in known}
        return found

    def _thoughts_of(self, one: TrajectorySet) -> Thoughts:
        return self._thoughts.setdefault(one.path, Thoughts(one.path.parent))


def _number(given: Mapping[str, str]) -> int:
    """Of a step."""
    number = given.get("number", "")
    if not number.isascii() or not number.isdigit() or not 0 < len(number) <= 6 or not int(number):
        raise NotFoundError("a step is a number from 1")
    return int(number)

"""The wall of sessions under way, and what should worry whoever looks: read from their folders and asked of the
inference server, so that collector, server and trainer need not know that somebody looks."""

import contextlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.outcome import Verdict
from viewer.catalog.heads import UNFINISHED, UNJUDGED, Head, read_steps, shortened
from viewer.catalog.index import Index
from viewer.catalog.opened import TrajectorySet
from viewer.runs import at_work
from viewer.serving import servers
from viewer.trajectory.detail import action_of

_RECENT_S, _LONG_S = 600.0, 86_400.0
_STALLED_S = 120.0
_LATELY_S = 120.0
_MANY = 3
_MAX_SESSIONS = 64
_MAX_FAULTS, _MAX_ENDED = 1000, 10_000
_ENDED = [*Verdict, UNJUDGED]
_LEAST_OF_ITS_TIME = 0.05


_Found = tuple[TrajectorySet, Head, float]


@dataclass(frozen=True)
class _Ended:
    """A session from its first page to its end (seconds since 1970)."""

    set: TrajectorySet
    head: Head
    begun_at: float
    at: float


def wall(index: Index, now: float) -> dict[str, Any]:
    """JSON of `sessions`, `ended` (by set, those of the last ten minutes), `steps_per_s` (of the last two),
    `servers`, `at_work` (what commands say of their progress) and `alarms` in words."""
    since = now - _RECENT_S
    work = [{**said, "run": run.key} for run in index.runs for said in at_work(run, now)]
    under_way = _under_way(index.newest(now - _LONG_S, [UNFINISHED], _MAX_SESSIONS), work, since)
    sessions = [_session(one, head, now - changed) for one, head, changed in under_way]
    faults = [
        head
        for one, head, _ in index.newest(since, [Verdict.BLOCKED, Verdict.INVALID], _MAX_FAULTS)
        if _written_at(one.path / head.name, "outcome.json") > since * 1e9  # others' verdicts and labels make none new
    ]
    ended = [one for one in map(_end, index.newest(since, _ENDED, _MAX_ENDED)) if one and one.at > since]
    serving = servers(one.head.policy for one in ended if one.at > now - _LATELY_S)
    for server in serving:
        server["num_behind"] = sum(head.version not in ("", server["version"]) for _, head, _ in under_way)
    return {
        "sessions": sessions,
        "ended": _by_set(ended, now),
        "steps_per_s": _steps_per_s(ended, now, bool(under_way)),
        "servers": serving,
        "at_work": work,
        "alarms": [*filter(None, [index.problem]), *_alarms(sessions, faults, serving)],
    }


def _under_way(unfinished: list[_Found], work: list[dict[str, Any]], since: float) -> list[_Found]:
    """What wrote something since then; what has not, where its set or a command of its round is still at work."""
    sets = {one.key for one, _, changed in unfinished if changed > since}
    rounds = {(said["run"], said["what"].split("/")[0]) for said in work}
    return [
        found
        for found in unfinished
        if found[2] > since or found[0].key in sets or (found[0].run, found[0].name.split("/")[0]) in rounds
    ]


def _end(found: _Found) -> _Ended | None:
    """By its own files; a label or another judge's verdict does not touch them. None for a copy: it was written in far
    less time than its steps took, of which only opening the first page comes before its first file."""
    one, head, _ = found
    with contextlib.suppress(OSError):
        at = (one.path / head.name / "trajectory.json").lstat().st_mtime
        begun_at = _taken_at(one.path / head.name, 1) / 1e9 or at
        if at - begun_at >= head.seconds * _LEAST_OF_ITS_TIME:
            return _Ended(one, head, min(begun_at, at - head.seconds), at)
    return None


def _by_set(ended: list[_Ended], now: float) -> list[dict[str, Any]]:
    """The set of the last one first."""
    found: dict[TrajectorySet, list[_Ended]] = {}
    for one in sorted(ended, key=lambda one: -one.at):
        found.setdefault(one.set, []).append(one)
    return [
        {"run": one.run, "set": one.key, "count": len(those), "ago_s": round(now - those[0].at, 1)}
        for one, those in found.items()
    ]


def _steps_per_s(ended: list[_Ended], now: float, is_going_on: bool) -> float:
    """Steps of the last two minutes over the part of them from the first step to now, or to the last end."""
    since = now - _LATELY_S
    lately = [one for one in ended if one.at > since]
    if not lately:
        return 0.0
    steps = sum(one.head.steps * min(1.0, (one.at - since) / max(one.at - one.begun_at, 1e-9)) for one in lately)
    begun = max(since, min(one.begun_at for one in lately))
    covered = (now if is_going_on else max(one.at for one in lately)) - begun
    return round(steps / max(covered, 1.0), 1)


def _session(one: TrajectorySet, head: Head, idle_s: float) -> dict[str, Any]:
    folder = one.path / head.name
    steps: list[dict[str, Any]] = []
    with contextlib.suppress(UserError):
        steps = read_steps(folder)[0]
    thinking = _taken_at(folder, len(steps) + 1) > 0  # the model has not replied to this page yet
    number = len(steps) + thinking
    return {
        "set": one.key,
        "name": head.name,
        "site": head.site,
        "number": number,
        "picture_at": str(_taken_at(folder, number)),
        "thinking": thinking,
        "idle_s": round(idle_s, 1),
        "action": shortened(action_of(folder, len(steps), steps[-1]), 200) if steps else "",
    }


def _taken_at(folder: Path, number: int) -> int:
    """When the screenshot of a step was written (nanoseconds since 1970); 0: it is not there."""
    return _written_at(folder, f"screenshot{number}.png")


def _written_at(folder: Path, name: str) -> int:
    with contextlib.suppress(OSError):
        return (folder / name).lstat().st_mtime_ns
    return 0


def _alarms(sessions: list[dict[str, Any]], faults: list[Head], serving: list[dict[str, Any]]) -> list[str]:
    """Of the last ten minutes."""
    stalled = [f"{one['name']}: nothing for {one['idle_s']:.0f} s" for one in sessions if one["idle_s"] > _STALLED_S]
    blocked = Counter(head.site for head in faults if head.outcome == "blocked")
    walls = [f"{site} turned the agent away {count} times" for site, count in blocked.items() if count >= _MANY]
    judges = Counter(head.judge for head in faults if head.outcome == "invalid" and head.judge)
    failing = [f"the judge {name} failed {count} times" for name, count in judges.items()]
    unwell = [f"the server on port {one['port']} is {one['status']}" for one in serving if one["status"] != "ok"]
    return stalled + walls + failing + unwell

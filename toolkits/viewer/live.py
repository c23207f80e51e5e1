"""The wall of sessions under way, and what should worry whoever looks: read from their folders, so that collector,
server and trainer need not know that somebody looks."""

import contextlib
from collections import Counter
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.action import action_text
from toolkits.viewer.heads import UNFINISHED, Head, as_text, read_steps, shortened
from toolkits.viewer.index import Index
from toolkits.viewer.opened import TrajectorySet
from toolkits.viewer.runs import at_work

_RECENT_S = 600.0
_STALLED_S = 120.0
_MANY = 3
_MAX_SESSIONS = 64


def wall(index: Index, now: float) -> dict[str, Any]:
    """JSON of `sessions`, `at_work` (what commands say of their progress) and `alarms` in words."""
    under_way = index.newest(UNFINISHED, now - _RECENT_S)[:_MAX_SESSIONS]
    sessions = [_session(one, head, now - changed) for one, head, changed in under_way]
    faults = [head for outcome in ("blocked", "invalid") for _, head, _ in index.newest(outcome, now - _RECENT_S)]
    work = [{**said, "run": run.key} for run in index.runs for said in at_work(run, now)]
    return {"sessions": sessions, "at_work": work, "alarms": _alarms(sessions, faults)}


def _session(one: TrajectorySet, head: Head, idle_s: float) -> dict[str, Any]:
    folder = one.path / head.name
    steps: list[dict[str, Any]] = []
    with contextlib.suppress(UserError):
        steps = read_steps(folder)[0]
    thinking = Path(folder / f"screenshot{len(steps) + 1}.png").is_file()  # the model has not replied to this one yet
    return {
        "set": one.key,
        "name": head.name,
        "site": head.site,
        "number": len(steps) + thinking,
        "thinking": thinking,
        "idle_s": round(idle_s, 1),
        "action": shortened(action_text(as_text(steps[-1].get("reply"))), 200) if steps else "",
    }


def _alarms(sessions: list[dict[str, Any]], faults: list[Head]) -> list[str]:
    """Of the last ten minutes."""
    stalled = [f"{one['name']}: nothing for {one['idle_s']:.0f} s" for one in sessions if one["idle_s"] > _STALLED_S]
    blocked = Counter(head.site for head in faults if head.outcome == "blocked")
    walls = [f"{site} turned the agent away {count} times" for site, count in blocked.items() if count >= _MANY]
    judges = Counter(head.judge for head in faults if head.outcome == "invalid" and head.judge)
    return stalled + walls + [f"the judge {name} failed {count} times" for name, count in judges.items()]

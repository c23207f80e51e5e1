"""A run as its page shows it: rounds with intervals, sets, time by stage, faults, curves of training."""

import contextlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import parse_json
from common.significance import wilson
from data.trajectory import FINISHED
from viewer.catalog.heads import (
    UNPROVEN,
    Head,
    as_number,
    as_object,
    as_text,
    is_number,
    numbers,
    read_object,
    shortened,
)
from viewer.catalog.index import Index
from viewer.catalog.opened import OpenedRun, TrajectorySet
from viewer.catalog.reading import inner_folder, plain_folders, read

_MAX_TRIES = 5
_MAX_FAMILIES = 200
_MAX_POINTS = 400  # of a curve
_MAX_CURVES = 40
_METRICS_BYTES = 128 * 2**20
_NOT_CURVES = {"iteration", "version", "flops", "num_tokens", "step_seconds"}
_AT_WORK_S = 60.0


def run_page(index: Index, run: OpenedRun, now: float) -> dict[str, Any]:
    """JSON of all but the curves."""
    summary = _tolerant(run.path, "summary.json")
    sets = [(one, index.heads(one)) for one in run.sets]
    faults = Counter(_fault(head) for _, heads in sets for head in heads if head.outcome in ("invalid", "blocked"))
    return {
        "key": run.key,
        "rounds": [_round(found) for found in _list(summary.get("rounds"))[:100]],
        "sets": [
            {"key": one.key, "name": one.name, **count(heads), "judging": _judging(one)}
            for one, heads in ([] if run.rounds else sets)
        ],
        "versions": _by_version(sets) if run.rounds else [],
        "families": _by_family([(one.key, heads) for one, heads in sets if one.name.endswith("test")]),
        "stages": _stages(run),
        "faults": faults.most_common(20),
        "at_work": at_work(run, now),
        "num_left_out": index.num_left_out[run.key],
        "num_unread": sum(not head.outcome for _, heads in sets for head in heads),
    }


def count(heads: Sequence[Head]) -> dict[str, Any]:
    """Outcomes of a set; by task the share solved (faults and what nobody judged left out) with its interval, S@k and
    F@1; means over what was read."""
    read_so_far = [head for head in heads if head.outcome]
    tries: dict[str, list[Head]] = defaultdict(list)
    for head in heads:
        if head.outcome not in UNPROVEN:
            tries[head.task].append(head)
    first = {
        task: min(head.run or 0 for head in those if head.outcome == "success")
        for task, those in tries.items()
        if any(head.outcome == "success" for head in those)
    }
    num_tries = max((head.run or 0 for head in heads), default=0) + 1
    share = len(first) / len(tries) if tries else None
    counted: dict[str, Any] = {
        "outcomes": dict(Counter(head.outcome for head in heads)),
        "num_tasks": len(tries),
        "num_solved": len(first),
        "rate": share,
        "interval": wilson(share, len(tries)) if share is not None else None,
        "mean_steps": (round(sum(head.steps for head in read_so_far) / len(read_so_far), 1) if read_so_far else None),
        "seconds": round(sum(head.seconds for head in heads)),
    }
    if num_tries > 1 and tries:
        counted["s_at"] = [
            sum(solved < most for solved in first.values()) / len(tries)
            for most in range(1, min(num_tries, _MAX_TRIES) + 1)
        ]
        answered = (any(not head.run and head.status == FINISHED for head in those) for those in tries.values())
        counted["f_at_1"] = sum(answered) / len(tries)
    return counted


def _by_version(sets: Sequence[tuple[TrajectorySet, Sequence[Head]]]) -> list[dict[str, Any]]:
    """Of an online run: what came of the groups that each version was learned of, dropped ones and those under way
    last. Each try counts: tries of one task are alike, which intervals do not know."""
    heads: dict[str, list[Head]] = defaultdict(list)
    groups: Counter[str] = Counter()
    for one, those in sets:
        heads[one.round] += those
        groups[one.round] += 1
    order = sorted(heads, key=lambda name: (not name.startswith("version"), len(name), name))
    return [{"name": name, "groups": groups[name], **_tries(heads[name])} for name in order]


def _tries(heads: Sequence[Head]) -> dict[str, Any]:
    judged = [head for head in heads if head.outcome not in UNPROVEN]
    solved = sum(head.outcome == "success" for head in judged)
    share = solved / len(judged) if judged else None
    return {
        "outcomes": dict(Counter(head.outcome for head in heads)),
        "num_tries": len(judged),
        "num_solved": solved,
        "rate": share,
        "interval": wilson(share, len(judged)) if share is not None else None,
        "mean_steps": round(sum(head.steps for head in judged) / len(judged), 1) if judged else None,
    }


def _by_family(tests: Sequence[tuple[str, Sequence[Head]]]) -> dict[str, dict[str, list[int]]]:
    """{family: {set: [solved, judged]}} of trajectories that prove something."""
    found: dict[str, dict[str, list[int]]] = defaultdict(dict)
    for key, heads in tests:
        for head in heads:
            if head.family and head.outcome not in UNPROVEN:
                counts = found[head.family].setdefault(key, [0, 0])
                counts[0] += head.outcome == "success"
                counts[1] += 1
    return dict(sorted(found.items())[:_MAX_FAMILIES])


def written(run: OpenedRun) -> str:
    """Another word after each change of what a run's page tells beside trajectories."""
    stages = inner_folder(run.path, "stages")
    notes = [stages, *stages.glob("*.json")] if stages else []
    times = []
    for path in (run.path / "summary.json", *notes, *(log / "metrics.jsonl" for _, log in _logs(run))):
        with contextlib.suppress(OSError):
            times.append(path.lstat().st_mtime_ns)
    return f"{len(times)}-{max(times, default=0)}"


def curves(run: OpenedRun) -> list[dict[str, Any]]:
    """From the `metrics.jsonl` of its rounds' trainers, or of an online run's: {"name", "along", "curves": {metric:
    [[iteration or version, value], ...]}}; a value that is NaN or too large to draw is null."""
    found = []
    for round, log in _logs(run):
        with contextlib.suppress(UserError):
            if content := read(log, "metrics.jsonl", _METRICS_BYTES):
                along = "version" if round == run.path else "iteration"
                found.append({"name": f"{round.name}/{log.name}", "along": along, "curves": _curves(content, along)})
    return found


def _logs(run: OpenedRun) -> Iterator[tuple[Path, Path]]:
    """(round, folder of a trainer's log); of an online run (its own folder, the log)."""
    if online := inner_folder(run.path, "trainer", "log", "online"):
        yield run.path, online
    for round in plain_folders(run.path):
        if logs := inner_folder(round, "training", "log"):
            yield from ((round, log) for log in plain_folders(logs))


def _curves(content: bytes, along: str) -> dict[str, list[list[float | None]]]:
    points: dict[str, list[list[float | None]]] = defaultdict(list)
    lines = content.split(b"\n")[:-1]
    places = range(len(lines))
    odd = [at for at in places if b"NaN" in lines[at] or b"Infinity" in lines[at]]
    for at in sorted({*places[:: max(1, len(lines) // _MAX_POINTS)], *places[-1:], *odd[:1], *odd[-1:]}):
        with contextlib.suppress(ValueError):
            step = as_object(parse_json(lines[at]))
            if (iteration := as_number(step.get(along))) is None:
                continue
            tokens, seconds = as_number(step.get("num_tokens")), as_number(step.get("step_seconds"))
            if tokens and seconds:
                step["tokens_per_s"] = tokens / seconds
            for name, value in list(step.items())[:_MAX_CURVES]:
                if name not in _NOT_CURVES and is_number(value):
                    points[shortened(name, 40)].append([iteration, as_number(value)])
    return points


def _judging(one: TrajectorySet) -> dict[str, float] | None:
    """What a judge that is paid for wrote down of its requests: their number, dollars and tokens."""
    with contextlib.suppress(UserError):
        if content := read(one.path / ".judge", "costs.jsonl"):
            entries = []
            for line in content.split(b"\n")[:-1]:
                with contextlib.suppress(ValueError):
                    entries.append(as_object(parse_json(line)))
            sums = {
                name: sum(as_number(entry.get(name)) or 0 for entry in entries)
                for name in ("usd", "prompt_tokens", "completion_tokens")
            }
            return {"num_requests": len(entries), **sums}
    return None


def _round(found: Any) -> dict[str, Any]:
    found = as_object(found)
    change = as_object(found.get("change"))
    control = as_object(as_object(found.get("beside")).get("control"))
    return {
        "name": as_text(found.get("name")),
        **{
            name: as_number(found.get(name))
            for name in ("success_rate", "num_tasks", "num_success", "num_invalid", "mean_steps")
        },
        "interval": _interval(found),
        "control": as_number(control.get("success_rate")),
        "change": {
            **{name: as_number(change.get(name)) for name in ("won", "lost", "mean", "p_value")},
            "interval": _interval(change),
        }
        if change
        else None,
    }


def _interval(found: dict[str, Any]) -> list[float] | None:
    interval = numbers(found.get("interval"))
    return interval if len(interval) == 2 else None


def _stages(run: OpenedRun) -> list[list[Any]]:
    """(name, seconds), in the order they finished."""
    notes = []
    if stages := inner_folder(run.path, "stages"):
        with contextlib.suppress(OSError):
            notes = [_tolerant(stages, path.name) for path in stages.glob("*.json")]
    timed = [note for note in notes if as_number(note.get("seconds")) is not None]
    timed.sort(key=lambda note: as_number(note.get("finished_at")) or 0)
    return [[as_text(note.get("stage")), note["seconds"]] for note in timed]


def at_work(run: OpenedRun, now: float) -> list[dict[str, Any]]:
    """What commands under way say of their progress; one that has done all is not."""
    found = []
    for folder in plain_folders(run.path):
        logs = inner_folder(folder, "logs")
        if logs is None:
            continue
        for path in logs.glob("*.progress.json"):
            with contextlib.suppress(OSError):
                if path.is_symlink() or (silent_s := now - path.stat().st_mtime) > _AT_WORK_S:
                    continue
                said = _tolerant(logs, path.name)
                done, total = as_number(said.get("done")), as_number(said.get("total"))
                if done is not None and done == total:
                    continue
                what = f"{folder.name}/{path.name.removesuffix('.progress.json')}"
                facts = as_text(said.get("facts"))
                found.append(
                    {"what": what, "done": done, "total": total, "facts": facts, "silent_s": round(silent_s, 1)}
                )
    return found


def _fault(head: Head) -> str:
    """Such as `invalid, page` or `blocked, captcha`: the first words of its reason."""
    return f"{head.outcome}, {shortened(head.reason.partition(':')[0], 60)}"


def _tolerant(folder: Path, name: str) -> dict[str, Any]:
    with contextlib.suppress(UserError):
        return read_object(folder, name) or {}
    return {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []

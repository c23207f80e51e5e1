"""How long the quickstart takes beside an earlier one, on the same machine, one after the other.

    python -m benchmarks.quickstart --before a032da2 --work_dir runs/quickstart_times [--pairs 3]

Two fresh clones, installed before anything is timed. Which one begins takes turns. A pair is appended to
<work_dir>/times.json when both have ended, so that the same command goes on where it was stopped; pairs may be of
several machines, as ratios are within one.
"""

import dataclasses
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Annotated

from benchmarks.figures import Figure, watched
from common import cli
from common.errors import UserError
from common.files import read_json, write_json
from common.options.limits import Checked, at_least
from common.processes import die_with_parent

ROOT = Path(__file__).resolve().parent.parent
LOOP = "examples/quickstart/run.sh"


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Time two commits' quickstarts."""

    before: str = "a032da2"
    """A commit; this one is the last before the work on the quickstart's speed."""
    now: str = "HEAD"
    work_dir: Path = Path("runs/quickstart_times")
    """Clones, runs, logs and times.json."""
    pairs: Annotated[int, at_least(1)] = 3
    """In times.json at the end, those that are there included."""


def main(config: Config) -> None:
    """Run the pairs that are missing, then print the seconds of each and the ratios."""
    work_dir = config.work_dir.resolve()
    commits = {"before": commit(config.before), "now": commit(config.now)}
    times = work_dir / "times.json"
    pairs = read_json(times) if times.exists() else []
    for name, wanted in commits.items():
        if len(pairs) < config.pairs:
            check_out(wanted, work_dir / name)
    while len(pairs) < config.pairs:
        order = ("before", "now") if len(pairs) % 2 == 0 else ("now", "before")
        with watched(1) as load:
            pair = {name: run(work_dir / name, work_dir / f"{name}.log") for name in order}
        pairs.append({"commits": commits, "order": order, **pair, "load": dataclasses.asdict(load)})
        write_json(times, pairs)
    for pair in pairs:
        print(*(f"{name} {pair[name]['seconds']:.0f} s," for name in pair["order"]), f"{shown(pair['load'])}")
    seconds = {name: [pair[name]["seconds"] for pair in pairs] for name in commits}
    print(f"now / before: {Figure.times(seconds['now'], seconds['before'])} times")


def commit(name: str) -> str:
    found = subprocess.run(["git", "rev-parse", "--verify", "-q", f"{name}^{{commit}}"], cwd=ROOT, capture_output=True)
    if found.returncode:
        raise UserError(f"{name}: no such commit of {ROOT}")
    return found.stdout.decode().strip()


def check_out(wanted: str, clone: Path) -> None:
    """A clone at a commit, with its own installation."""
    if not clone.exists():
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    subprocess.run(["git", "-C", str(clone), "fetch", "-q", "origin", wanted], check=True)
    subprocess.run(["git", "-C", str(clone), "checkout", "-q", wanted], check=True)
    subprocess.run(["bash", "install.sh"], cwd=clone, check=True, env=environment())


def run(clone: Path, log: Path) -> dict:
    """Seconds of one quickstart, all and by stage, and how many test tasks each of its policies solved."""
    run_dir = clone / "runs" / "timed"
    shutil.rmtree(run_dir, ignore_errors=True)
    began = time.monotonic()
    with log.open("w") as said:
        command = ["bash", LOOP, str(run_dir)]
        ended = subprocess.run(
            command, cwd=clone, stdout=said, stderr=said, env=environment(), preexec_fn=die_with_parent
        )
    if ended.returncode:
        raise UserError(f"{clone}: the quickstart ended with {ended.returncode}; see {log}")
    summary = read_json(run_dir / "summary.json")
    return {
        "seconds": round(time.monotonic() - began, 3),
        "by_stage": summary["seconds_per_stage"],
        "solved": {round["name"]: f"{round['num_success']}/{round['num_tasks']}" for round in summary["rounds"]},
    }


def environment() -> dict[str, str]:
    """Without the virtual environment that this command runs in, and what the quickstart reads."""
    dropped = {"VIRTUAL_ENV", "PYTHONPATH", "SEED", "NUM_ROUNDS", "NUM_TEST_TASKS", "OVERLAP", "CONTROLS", "LOOKS"}
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    own = str(Path(os.environ.get("VIRTUAL_ENV", "/nowhere")) / "bin")
    return kept | {"PATH": os.pathsep.join(part for part in kept["PATH"].split(os.pathsep) if part != own)}


def shown(load: dict) -> str:
    return f"other work took {load['others']} of {load['cores']} cores"


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)

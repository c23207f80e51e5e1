"""Kill programs of an online run at random, and look whether anything is lost, learned twice or half written:

    ALGORITHM=grpo python -m tests.adversary.online_kills --recipe examples/online/recipe.py --output_dir runs/killed

The run goes on until it has done `--versions`, and is begun again by the same command where it gives up. Exit code 1
and a line for each thing that is not as it should be.
"""

import argparse
import collections
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import psutil
from safetensors import safe_open

from data.checkpoint_folder import read_tracker
from data.online_run import OnlineRun, read_fates

_LOOK_S = 1.0
_KINDS = {
    "server": "hf_online_server.py",
    "pool": "collection/pool.py",
    "trainer": "training.online",
    "browser": "chrom",
}
"""What the command line of each has in it."""


def main() -> int:
    """Run, kill, look."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", type=Path, required=True)
    parser.add_argument("--output_dir", type=Path, required=True)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--versions", type=int, default=16)
    parser.add_argument("--every_s", type=float, default=25.0, help="seconds between kills, on average")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    run, drawn = OnlineRun(asked.output_dir), random.Random(asked.seed)
    killed, starts = _disturb(asked, run, drawn)
    print(f"{sum(killed.values())} kills: {dict(killed)}; elcano online was begun {starts} times", flush=True)
    wrong = look(run, asked.versions)
    print("\n".join(wrong) or "nothing lost, nothing learned twice, no half version, no process left")
    return int(bool(wrong))


def _disturb(asked: argparse.Namespace, run: OnlineRun, drawn: random.Random) -> tuple[collections.Counter[str], int]:
    killed: collections.Counter[str] = collections.Counter()
    command = [sys.executable, "-m", "elcano.cli", "online", str(asked.recipe), "--output_dir", str(asked.output_dir)]
    process, starts = subprocess.Popen(command, start_new_session=True), 1
    next_at = time.monotonic() + 60
    newest = 0
    complete: set[int] = set()
    try:
        while _version(run) < asked.versions:
            time.sleep(_LOOK_S)
            before, newest = newest, max(run.versions(), default=0)
            assert newest >= before, f"version {newest} after {before}"
            now = _complete(run)
            assert complete <= now, f"complete once, and no more: {sorted(complete - now)}"
            complete = now
            if process.poll() is not None:
                process, starts = subprocess.Popen(command, start_new_session=True), starts + 1
            if time.monotonic() >= next_at and sum(killed.values()) < asked.kills:
                next_at = time.monotonic() + drawn.expovariate(1 / asked.every_s)
                if kind := kill_one(process.pid, drawn):
                    killed[kind] += 1
                    print(f"version {newest}: killed a {kind}", flush=True)
    finally:  # its programs would live on
        process.terminate()  # Ctrl-C is ignored where a shell began all this in the background
        process.wait(120)
    return killed, starts


def kill_one(pid: int, drawn: random.Random) -> str:
    """Kill a process below `pid`, of a kind that is drawn; which kind it was, empty where none of it is there."""
    kind = drawn.choice(list(_KINDS))
    found = []
    for child in psutil.Process(pid).children(recursive=True):
        try:
            if _KINDS[kind] in " ".join(child.cmdline()):
                found.append(child)
        except psutil.Error:
            continue
    if not found:
        return ""
    try:
        drawn.choice(found).kill()
    except psutil.NoSuchProcess:
        return ""
    return kind


def look(run: OnlineRun, num_versions: int) -> list[str]:
    """What is wrong in the run's folder, once it has ended."""
    lines = [json.loads(line) for line in run.learned.read_text().splitlines()]
    fates = read_fates(run.learned)
    wrong = [f"{len(lines)} lines about {len(fates)} groups"] if len(lines) != len(fates) else []
    order = [line["version"] for line in lines if line["fate"] == "learned"]
    wrong += ["learned groups are not in the order of their versions"] if order != sorted(order) else []
    metrics = run.folder / "trainer" / "log" / "online" / "metrics.jsonl"
    told_of = map(json.loads, metrics.read_text().splitlines())
    by_version: dict[int, list[int]] = {line["version"]: line["groups"] for line in told_of}  # the last counts
    learned = [group for groups in by_version.values() for group in groups]
    wrong += ["a group was learned in two versions"] if len(set(learned)) != len(learned) else []
    told = {group for group, fate in fates.items() if fate == "learned"}
    wrong += [f"learned and not told: {sorted(set(learned) - told)}"] if set(learned) - told else []
    wrong += [f"told and not learned: {sorted(told - set(learned))}"] if told - set(learned) else []
    numbers = list(run.groups())
    wrong += ["numbers of groups are not 0, 1, 2, ..."] if numbers != list(range(len(numbers))) else []
    newest = max(run.versions())
    if not 0 <= _version(run) - newest <= 1:  # the end may come between a checkpoint and its publication
        wrong.append(f"the newest weights are {newest}, the newest checkpoint {_version(run)}")
    if sorted(by_version)[:newest] != list(range(1, newest + 1)) or _version(run) < num_versions:
        wrong.append(f"versions {sorted(by_version)} were learned, {newest} is out")
    for folder in run.versions().values():
        with safe_open(folder / "model.safetensors", "pt") as weights:
            wrong += [] if list(weights.keys()) else [f"{folder}: holds nothing"]
    return wrong + [f"left: {' '.join(command)[:120]}" for command in _left(run)]


def _complete(run: OnlineRun) -> set[int]:
    return {number for number, folder in run.groups().items() if (folder / "group.json").exists()}


def _version(run: OnlineRun) -> int:
    return int(read_tracker(run.folder / "trainer" / "checkpoint" / "online") or 0)


def _left(run: OnlineRun) -> list[list[str]]:
    """Commands that still run for this folder."""
    own = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    every = [process for process in psutil.process_iter(["cmdline"]) if process.pid not in own]
    commands = [process.info["cmdline"] or [] for process in every]
    return [command for command in commands if str(run.folder) in " ".join(command)]


if __name__ == "__main__":
    sys.exit(main())

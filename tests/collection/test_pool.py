"""`pool.py` as a trainer meets it: real browsers, real HTTP, killed and started again; folders say all of it."""

import json
import re
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from common.defaults import STARTING_POLICY
from common.files import link_tree, read_json
from data.online_run import Group, OnlineRun, read_group
from data.trajectory import folder_name, is_complete, read_outcome, read_trajectory
from tests.answering import Request, answering
from tests.collection.collector import list_hosts, task
from tests.conftest import ROOT
from tests.waiting import wait_until

Spawn = Callable[..., subprocess.Popen]


@pytest.fixture
def run(tmp_path: Path) -> OnlineRun:
    """A run's folder with version 0 of the weights, a link as users make it."""
    run = OnlineRun(tmp_path / "run")
    run.weights.mkdir(parents=True)
    run.version(0).symlink_to(STARTING_POLICY)
    return run


def start(spawn: Spawn, run: OnlineRun, url: str, *flags: object) -> subprocess.Popen:
    words = ["--run_dir", run.folder, "--api_localhost", f"{url}/predict", "--headless", "--num_sessions", 3]
    return spawn("collection/pool.py", *words, *flags, stderr=subprocess.PIPE)


def complete(run: OnlineRun) -> dict[int, Group]:
    found = {number: read_group(folder) for number, folder in run.groups().items()}
    return {number: group for number, group in found.items() if group is not None}


def rollouts(run: OnlineRun) -> list[Path]:
    """The complete ones."""
    return [folder for group in run.groups().values() for folder in group.glob("task*") if is_complete(folder)]


def learn(run: OnlineRun, group: int, fate: str) -> None:
    run.learned.parent.mkdir(exist_ok=True)
    with open(run.learned, "a") as file:
        file.write(json.dumps({"group": group, "version": 0, "fate": fate}) + "\n")


def kill(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def check_sums(run: OnlineRun, size: int) -> None:
    """Each group has what its trajectories say, of `size` rollouts of one task."""
    for number, group in complete(run).items():
        folders = [run.group(number) / name for name in group.folder_names()]
        assert sorted(run.group(number).glob("task*")) == sorted(folders) and len(folders) == size
        for folder, reward in zip(folders, group.rewards, strict=True):
            solved = read_outcome(folder).verdict.solved
            assert reward == (None if solved is None else float(solved))
        said = {step.weights_version for folder in folders for step in read_trajectory(folder).steps}
        versions = [version for name in said if (version := run.version_of(name)) is not None]
        assert not versions or [min(versions), max(versions)] == group.versions


def test_a_group_under_way_goes_on_where_its_world_is_now(run: OnlineRun, spawn: Spawn, dead_port: int) -> None:
    """A world that the pool itself serves is at another port each time."""
    shutil.copy(ROOT / "data" / "tasks" / "validation.jsonl", run.tasks)

    def policy(request: Request) -> tuple[int, Any]:
        return 200, {"text": "Thought: so.\n\nAction: ANSWER; yes"}

    flags = ("--group_size", 2, "--groups_per_step", 2, "--max_iter", 2, "--num_groups", 2)
    with answering(policy) as server:
        pool = start(spawn, run, server, *flags)
        wait_until(lambda: len(complete(run)) == 2)
        assert pool.wait(timeout=100) == 0
        for folder in run.groups().values():  # as a kill leaves it, and the websites of then are gone
            for path in (*folder.glob("task*"), folder / "group.json"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            note = read_json(folder / "begun.json")
            note["task"]["web"] = re.sub(r":\d+/", f":{dead_port}/", note["task"]["web"])
            (folder / "begun.json").write_text(json.dumps(note))
        pool = start(spawn, run, server, *flags)
        assert pool.wait(timeout=100) == 0, pool.stderr.read()
    assert len(rollouts(run)) == 4


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_at_any_time_it_goes_on_where_it_was(run: OnlineRun, spawn: Spawn, dead_port: int) -> None:
    """With the real server, which is killed, too, and lag 0: a version's groups begin when the server holds it."""
    url = f"http://127.0.0.1:{dead_port}"  # between its servers

    def serve(version: int) -> subprocess.Popen:
        server = spawn(
            *("server/hf_online_server.py", "--model_name_or_path", run.version(version)),
            *("--port", url.rpartition(":")[2]),
            stdout=subprocess.PIPE,
        )
        assert server.stdout.readline()
        return server

    shutil.copy(ROOT / "data" / "tasks" / "validation.jsonl", run.tasks)
    flags = ("--group_size", 2, "--groups_per_step", 2, "--max_lag", 0, "--max_iter", 3, "--seed", 1, "--num_groups", 4)
    server = serve(0)
    pool = start(spawn, run, url, *flags)
    wait_until(lambda: rollouts(run), timeout_s=200)
    kill(pool)
    kept = {folder: (folder / "trajectory.json").stat().st_mtime_ns for folder in rollouts(run)}
    assert kept and len(kept) < 4 and set(run.groups()) <= {0, 1}

    kill(server)  # the pool waits for it as it starts
    pool = start(spawn, run, url, *flags)
    assert "does not answer" in next(line for line in pool.stderr if "model server" in line)
    server = serve(0)
    assert "answers again" in next(line for line in pool.stderr if "model server" in line)
    kill(server)  # in the middle of a rollout, or before one
    server = serve(0)
    wait_until(lambda: len(complete(run)) == 2, timeout_s=200)
    assert kept == {folder: (folder / "trajectory.json").stat().st_mtime_ns for folder in kept}
    assert {group.versions[1] for group in complete(run).values()} == {0}

    learn(run, 0, "no spread")
    wait_until(lambda: len(complete(run)) == 3, timeout_s=200)
    learn(run, 1, "learned")
    learn(run, 2, "learned")
    link_tree(STARTING_POLICY, run.version(1))
    wait_until(lambda: read_json(run.folder / "state" / "pool.json")["version"] == 1)
    assert list(run.groups()) == [0, 1, 2]
    httpx.post(f"{url}/reload", json={"model_name_or_path": str(run.version(1))}, timeout=60).raise_for_status()
    assert pool.wait(timeout=200) == 0, pool.stderr.read()
    assert complete(run)[3].versions == [1, 1] and list(run.groups()) == [0, 1, 2, 3]
    check_sums(run, size=2)
    assert read_json(run.folder / "state" / "pool.json")["worst_age"] == 0


def test_a_straggler_holds_up_no_other_group(run: OnlineRun, spawn: Spawn, wild: ThreadingHTTPServer) -> None:
    """Younger groups pass it, as far as `look_ahead`; what is only a fault is tried twice and has no reward; tasks that
    come later are taken."""
    is_first, released = threading.Lock(), threading.Event()

    def policy(request: Request) -> tuple[int, Any]:
        if request.method == "POST" and is_of_oldest_group(request) and is_first.acquire(blocking=False):
            released.wait(timeout=200)
        return 200, {"text": "Thought: so.\n\nAction: ANSWER; yes"}

    def is_of_oldest_group(request: Request) -> bool:
        task_id = read_json(run.group(0) / "begun.json")["task"]["id"]
        return request.body["id"] in {folder_name(task_id, number) for number in range(2)}

    def on(page: str, name: str, truth: str) -> dict[str, Any]:
        wanted = {"eval_types": ["string_match"], "reference_answers": {"exact_match": truth}}
        return task(name, f"http://127.0.0.1:{wild.server_address[1]}{page}", "q", eval=wanted)

    tasks = [on("/", "right", "yes"), on("/", "wrong", "no")]
    write(run.tasks, tasks)
    flags = ("--group_size", 2, "--groups_per_step", 2, "--max_lag", 1, "--look_ahead", 4, "--max_iter", 2)
    with answering(policy) as server:
        pool = start(spawn, run, server, *flags, "--num_groups", 5, *list_hosts([tasks[0]["web"]]))
        wait_until(lambda: len(complete(run)) == 3)
        learn(run, 1, "no spread")
        write(run.tasks, [*tasks, on("/unavailable", "broken", "yes")])
        time.sleep(2)
        # there is a place, but the window is at its end
        assert list(run.groups()) == [0, 1, 2, 3] == [0, *complete(run)]
        released.set()
        assert pool.wait(timeout=120) == 0, pool.stderr.read()
    found = Counter((group.task_id, *group.rewards) for group in complete(run).values())
    assert found == {("T--right", 1, 1): 2, ("T--wrong", 0, 0): 2, ("T--broken", None, None): 1}
    assert complete(run)[4].task_id == "T--broken"
    check_sums(run, size=2)


def test_a_run_without_weights_is_refused(run: OnlineRun, spawn: Spawn, url: str) -> None:
    write(run.tasks, [task(1, f"{url}/", "ANSWER; yes", eval={"eval_types": []})])
    shutil.rmtree(run.weights)
    pool = start(spawn, run, url, *list_hosts([url]))
    _, said = pool.communicate(timeout=60)
    assert pool.returncode == 2 and "weights: holds no weights; put the policy to begin with" in said


def write(path: Path, tasks: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(task) + "\n" for task in tasks))

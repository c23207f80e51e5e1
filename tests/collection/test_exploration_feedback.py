"""Exploration: a task is tried until it succeeds, and a restart knows what is solved."""

from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from common.seeds import derive_seed
from data.trajectory import read_trajectory
from tests.collection.collector import Collector, task

ANSWER_42 = {"eval_types": ["string_match"], "reference_answers": {"must_include": ["42"]}}


@pytest.fixture
def explorer(tmp_path: Path) -> Collector:
    return Collector(tmp_path, script="collection/exploration_feedback.py")


def test_tries_end_at_the_first_success_and_a_restart_goes_on_from_there(
    explorer: Collector, site: ThreadingHTTPServer, url: str
) -> None:
    tasks = [
        task("solved", f"{url}/", "ANSWER; it is 42", eval=ANSWER_42),
        task("never", f"{url}/", "ANSWER; it is 41", eval=ANSWER_42),
    ]
    done = explorer.run(tasks, api_localhost=f"{url}/predict", max_rerun_times=2, seed=7)
    assert done.returncode == 0, done.stderr
    names = ["taskT--never--run0", "taskT--never--run1", "taskT--solved--run0"]
    assert [folder.name for folder in explorer.complete()] == names
    verdicts = [read_trajectory(folder).outcome.verdict for folder in explorer.complete()]
    assert verdicts == ["failure", "failure", "success"]
    assert [read_trajectory(folder).provenance["seed"] for folder in explorer.complete()] == [
        derive_seed(7, task_id, run) for task_id, run in (("T--never", 0), ("T--never", 1), ("T--solved", 0))
    ]

    num_requests = len(site.requests)
    done = explorer.run(tasks, api_localhost=f"{url}/predict", max_rerun_times=3, seed=7)
    assert done.returncode == 0, done.stderr
    assert len(site.requests) == num_requests + 1  # only the third try of what is not solved
    assert len(explorer.complete()) == 4


def test_all_tries_are_taken_where_groups_are_wanted(explorer: Collector, site: ThreadingHTTPServer, url: str) -> None:
    """Also of a task that an earlier run, which ended at the first success, had solved."""
    tasks = [task("solved", f"{url}/", "ANSWER; it is 42", eval=ANSWER_42)]
    how = {"api_localhost": f"{url}/predict", "max_rerun_times": 3, "seed": 7}
    assert explorer.run(tasks, **how).returncode == 0
    assert [folder.name for folder in explorer.complete()] == ["taskT--solved--run0"]
    done = explorer.run(tasks, all_tries=True, **how)
    assert done.returncode == 0, done.stderr
    assert [folder.name for folder in explorer.complete()] == [f"taskT--solved--run{run}" for run in (0, 1, 2)]
    assert len({read_trajectory(folder).provenance["seed"] for folder in explorer.complete()}) == 3
    num_requests = len(site.requests)
    assert explorer.run(tasks, all_tries=True, **how).returncode == 0 and len(site.requests) == num_requests


def test_tries_are_limited(explorer: Collector, url: str) -> None:
    done = explorer.run([task(1, f"{url}/", "ANSWER; x")], api_localhost=f"{url}/predict", max_rerun_times=65)
    assert done.returncode == 2 and "must be 1 to 64" in done.stderr


def test_a_task_without_ground_truth_is_refused(explorer: Collector, url: str) -> None:
    done = explorer.run([task(1, f"{url}/", "ANSWER; x")], api_localhost=f"{url}/predict")
    assert done.returncode == 2 and "no ground truth" in done.stderr
    assert not explorer.folders()

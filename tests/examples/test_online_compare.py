"""Algorithms that learn online, side by side: which tasks, the table, and the whole from a small warm start."""

import dataclasses
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from collection.config.commands import PoolConfig, RunConfig
from common.files import write_json
from data.online_run import Group
from data.task import Task, family_of_task, read_tasks
from elcano.executors.local import Executor
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "examples" / "online"))
import compare  # pyright: ignore[reportMissingImports]
import recipe  # pyright: ignore[reportMissingImports]
import worlds  # pyright: ignore[reportMissingImports]
from worlds import WORLDS  # pyright: ignore[reportMissingImports]

KINDS = ("Shop-price", "Shop-cart", "Forum-views")
sys.path.remove(str(ROOT / "examples" / "online"))


def test_each_kind_has_tasks_to_explore_that_no_test_has() -> None:
    sites = WORLDS["sites"]
    explored = sites.explored()
    assert Counter(family_of_task(task.id) for task in explored) == {
        "Shop-price": 130,
        "Shop-cart": 130,
        "Forum-views": 130,
    }
    tested = {task.id for name in ("test", "test-2") for task in read_tasks(ROOT / "data" / "tasks" / f"{name}.jsonl")}
    assert not {task.id for task in explored} & tested


@pytest.mark.parametrize(("name", "per_kind"), [("miniwob", 5), ("touch", 30)])
def test_a_world_is_tested_with_seeds_that_nobody_explored(
    name: str, per_kind: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[range] = []
    read = worlds._read_miniwob_tasks

    def read_some(seeds: range) -> list[Task]:
        """As a page is opened for each."""
        asked.append(seeds)
        return read(seeds[::20])

    monkeypatch.setattr(worlds, "_read_miniwob_tasks", read_some)
    world = WORLDS[name]
    explored, tested = world.explored(), world.tests(Executor(), tmp_path, per_kind)
    assert set(Counter(family_of_task(task.id) for task in tested).values()) == {per_kind}
    assert {family_of_task(task.id) for task in tested} == {family_of_task(task.id) for task in explored}
    assert not {task.web for task in tested} & {task.web for task in explored}
    assert len(set().union(*asked)) == sum(map(len, asked))
    made = recipe.made("grpo", tmp_path, tmp_path / "tasks.jsonl").collection
    PoolConfig(run_dir=tmp_path, **{**made, **world.browsing, **world.exploring})
    assert world.browsing.keys() <= {field.name for field in dataclasses.fields(RunConfig)}


def test_a_name_that_is_none_is_refused_with_those_that_are() -> None:
    with pytest.raises(compare.UserError, match="digiq: is not learned online here; there are filtered_bc, grpo"):
        recipe.made("digiq", Path("policy"), Path("tasks.jsonl"))


def test_the_table_pairs_each_arm_with_the_warm_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "seed-0" / "pae"
    log = run / "trainer" / "log" / "online"
    log.mkdir(parents=True)
    lines = [
        {"version": n, "success": n / 10, "rollouts": 50, "wait_s": 20.0, "columns_s": 10.0, "train_s": 30.0}
        for n in (1, 2, 3, 4)
    ]
    (log / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for number in range(36):
        group = Group(number, f"{KINDS[number % 3]}-x--{number}", [0, 1], [float(number >= 18), None], [0, 0])
        write_json(run / "trajectories" / f"group{number:06d}" / "group.json", dataclasses.asdict(group))
    assert compare._mean_of_kinds(run) == [(0, 0.0), (36, 0.5)]
    start = {f"task-{n}": float(n < 2) for n in range(10)}
    learned = {f"task-{n}": float(n < 8) for n in range(10)}
    compare.show(
        [compare.Arm("warm start", start, [0.2], []), compare.Arm("pae", learned, [0.8], [run])],
        tmp_path,
    )
    row = next(line for line in capsys.readouterr().out.splitlines() if " pae " in f" {line.strip()} ")
    assert row.split() == "pae 200 80.0% 49% to 94% +60.0% +28% to +92% 4".split()
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["pae"]["change"]["won"] == 6 and summary["pae"]["minutes"] == 4
    assert (tmp_path / "curves.png").stat().st_size > 5000


@pytest.mark.slow
@pytest.mark.timeout(5400)
def test_the_whole_from_a_small_warm_start(tmp_path: Path) -> None:
    """Also the benchmarks of waiting and of exactness, which need a policy that sometimes succeeds."""
    start = tmp_path / "start"
    told = {**os.environ, "NUM_DEMONSTRATIONS": "150"}
    words = [sys.executable, "-m", "elcano.cli", "run", "examples/online/warm_start.py", "--output_dir", str(start)]
    subprocess.run(words, cwd=ROOT, env=told, check=True, capture_output=True)
    policy, out = start / "IL" / "policy", tmp_path / "runs"
    words = ["examples/online/compare.py", "--output_dir", str(out), "--warm_start", str(policy)]
    words += ["--algorithms", "filtered_bc", "--tries", "48", "--test_tasks", "2"]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, check=True, capture_output=True, text=True)
    assert "warm start" in done.stdout and "filtered_bc" in done.stdout
    words = ["-m", "benchmarks.online_waiting", "--policy", str(policy), "--tasks", str(out / "tasks.jsonl")]
    words += ["--work_dir", str(tmp_path / "waiting"), "--versions", "1", "--repeats", "1", "--num_sessions", "8"]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1].startswith("ratio ")
    words = ["-m", "benchmarks.online_exactness", "--recipe", "examples/online/recipe.py", "--num_groups", "16"]
    words += ["--work_dir", str(tmp_path / "exactness"), "--layouts", "TP1", "TP2, packed"]
    told = {**os.environ, "WARM_START": str(policy), "ALGORITHM": "grpo"}
    subprocess.run([sys.executable, *words], cwd=ROOT, env=told, check=True, capture_output=True)
    for layout in ("TP1", "TP2-packed"):
        found = json.loads((tmp_path / "exactness" / layout / "difference.json").read_text())
        assert found["num_tokens"] > 0 and found["max"] < 1e-4

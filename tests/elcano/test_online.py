"""`elcano online`: three programs on the embedded sites with the starting policy; each is killed and comes back."""

import contextlib
import dataclasses
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from common.defaults import STARTING_POLICY, TEST_TASKS
from common.errors import UserError
from data.online_run import OnlineRun, read_fates, read_group
from elcano.executors.executor import Command
from elcano.online import OnlineRecipe, Program, run_online, server_threads
from tests.conftest import ROOT
from tests.waiting import wait_until

RECIPE = """
from pathlib import Path
import sys
from common.defaults import STARTING_POLICY
from elcano.online import OnlineRecipe

def online():
    return OnlineRecipe(
        policy=STARTING_POLICY,
        tasks=Path("{tasks}"),
        collection=dict(group_size=1, groups_per_step=2, max_lag=1, max_iter=2, num_sessions=2, seed=0),
        training=dict(groups_per_step=2, num_versions=5),
        converts=False,
        trainer=(sys.executable, "-m", "tests.elcano.copying_trainer"),
    )
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_what_dies_is_started_again(spawn: Callable[..., subprocess.Popen], tmp_path: Path) -> None:
    recipe, run = tmp_path / "recipe.py", OnlineRun(tmp_path / "run")
    recipe.write_text(RECIPE.format(tasks=ROOT / "data" / "tasks" / "validation.jsonl"))
    started = spawn("-m", "elcano.cli", "online", recipe, "--output_dir", run.folder, stdout=subprocess.PIPE)
    for words in ("collection/pool.py", "hf_online_server.py", "copying_trainer"):
        wait_until(lambda words=words: find(started, words), timeout_s=120)
        complete = len(groups(run))
        wait_until(lambda complete=complete: len(groups(run)) > complete, timeout_s=120)
        find(started, words).send_signal(signal.SIGKILL)
    output, _ = started.communicate(timeout=300)
    assert started.returncode == 0, output
    for name in ("pool", "server", "trainer"):
        assert f"the {name} ended with code -9 and is started again" in output
    fates = read_fates(run.learned)
    assert sorted(fates) == list(range(10)) and set(fates.values()) == {"learned"}
    assert run.newest_version() == 5 and not psutil.Process().children()


def test_what_is_refused_is_not_tried_again(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "import sys; print('error: TP=8 is too much', file=sys.stderr); sys.exit(2)"]
    program = Program("trainer", lambda: Command(words, tmp_path / "trainer.log"))
    program.start()
    with pytest.raises(UserError, match="the trainer: TP=8 is too much"):
        wait_until(program.look, timeout_s=60)


@pytest.mark.parametrize(
    ("collection", "told"),
    [
        ({"temprature": 0.8}, "the recipe's `collection`: --temprature: no such option; the nearest"),
        ({"groups_per_step": 12}, "groups_per_step: the recipe's `collection` has 12, its `training` 8; give both"),
    ],
)
def test_a_slip_in_a_recipe_is_told_before_anything_is_made(
    tmp_path: Path, collection: dict[str, Any], told: str
) -> None:
    recipe = OnlineRecipe(policy=STARTING_POLICY, tasks=TEST_TASKS, collection=collection)
    with pytest.raises(UserError, match=told):
        run_online(recipe, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_a_pool_gives_up_on_later_may_be_there_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [
        sys.executable,
        "-c",
        "import sys; print('error: nobody serves the websites', file=sys.stderr); sys.exit(2)",
    ]
    program = Program("pool", lambda: Command(words, tmp_path / "pool.log"), is_begun_again_when_refused=True)
    monkeypatch.setattr("elcano.online._YOUNG_S", 0)
    program.start()
    first = program._process
    wait_until(lambda: program.look() or program._process is None, timeout_s=60)
    wait_until(lambda: program.look() or program._process not in (None, first), timeout_s=60)
    monkeypatch.setattr("elcano.online._YOUNG_S", 3600)
    with pytest.raises(UserError, match=r"the pool: .*nobody serves the websites"):
        wait_until(program.look, timeout_s=60)


def test_server_and_trainer_share_the_cores_unless_one_waits_for_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = OnlineRecipe(policy=STARTING_POLICY, tasks=TEST_TASKS)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("common.processes.num_cores", lambda: 8)
    assert server_threads(recipe) == {"OMP_NUM_THREADS": "4"}
    assert server_threads(dataclasses.replace(recipe, collection={"max_lag": 0})) == {}
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert server_threads(recipe) == {}


def groups(run: OnlineRun) -> list[int]:
    return [number for number, path in run.groups().items() if read_group(path)]


def find(started: subprocess.Popen, words: str) -> psutil.Process | None:
    """The child whose command holds these words."""
    for child in psutil.Process(started.pid).children():
        with contextlib.suppress(psutil.Error):  # it has just ended
            if words in " ".join(child.cmdline()):
                return child
    return None

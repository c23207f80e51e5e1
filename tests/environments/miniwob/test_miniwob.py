"""MiniWoB++: every task begins, the seed decides, and only the first end of an episode counts."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from common.processes import served
from data.actions.action import Click
from data.task import Task, move_sites, read_tasks
from data.trajectory import read_trajectory
from environments.browser.acting.actions import act
from environments.browser.fleet import Fleet
from environments.browser.observation.observe import observe
from environments.browser.page.page import Page, Viewport
from environments.browser.page.settle import settle
from environments.miniwob import app as miniwob
from environments.miniwob.abilities import doable, table
from environments.miniwob.make_tasks import family
from environments.miniwob.world import World
from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(not find_spec("miniwob"), reason="needs the package miniwob")


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with served("environments.miniwob") as port:
        yield port


@pytest.fixture
def expert(spawn: Any) -> str:
    """The address of the expert."""
    process = spawn("environments/miniwob/expert/server.py", "--port", 0, stdout=subprocess.PIPE)
    return re.search(r"http://\S+", process.stdout.readline())[0]


def page_of(name: str, seed: int, port: int) -> str:
    return move_sites([Task("x", "q", miniwob.address(name, seed))], port)[0].web


async def press(page: Page, name: str) -> None:
    seen = await observe(page, "released")
    label = next(label for label, node in seen.nodes.items() if node["name"]["value"] == name)
    await act(page, Click(label), seen, seen.url)


async def state(page: Page, port: int) -> dict:
    return await page.fetch_json(f"http://{miniwob.HOST}:{port}/_elcano/state")


def test_a_second_attempt_does_not_count(port: int, tmp_path: Path) -> None:
    """Neither in the page, nor by opening it again: the first end stands."""
    url = page_of("click-test-2", 0, port)

    async def go() -> list[dict]:
        found = []
        async with Fleet(1, headless=True, viewport=Viewport()) as fleet:
            for clicks in (["TWO", "reload", "ONE"], ["reload", "ONE"]):
                async with fleet.page(0, tmp_path) as page:
                    for click in ["reload", *clicks]:
                        if click == "reload":
                            await page.goto(url)
                            await settle(page)
                        else:
                            await press(page, click)
                    seen = await observe(page, "released")
                    assert "The episode is over." in seen.tree and "Last reward" not in seen.tree
                    found.append(await state(page, port))
        return found

    failed, solved = asyncio.run(go())
    assert (failed["done"], failed["solved"], failed["raw_reward"], failed["loads"]) == (True, False, -1, 2)
    assert (solved["done"], solved["solved"], solved["raw_reward"], solved["loads"]) == (True, True, 1, 2)


def test_an_unknown_task_is_named() -> None:
    with pytest.raises(UserError, match="no task 'click-nothing'"):
        asyncio.run(World(env_tasks=("click-nothing",)).tasks())


def collect(folder: Path, expert: str, *flags: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "collection/run.py", "--env", "miniwob", "--headless", "--judge", "oracle"]
    command += [
        "--api_base",
        expert,
        "--api_model",
        "expert",
        "--output_dir",
        str(folder),
        "--download_dir",
        str(folder / "downloads"),
    ]
    return subprocess.run([*command, *flags], cwd=ROOT, capture_output=True, text=True)


def test_it_runs_as_a_command(expert: str, tmp_path: Path) -> None:
    tasks = ("click-button", "click-checkboxes", "click-color")
    done = collect(tmp_path, expert, "--env_tasks", *tasks, "--env_seeds", "3", "4", "--max_iter", "8")
    assert done.returncode == 0, done.stderr
    for name in tasks[:2]:
        for seed in (3, 4):
            trajectory = read_trajectory(tmp_path / f"taskminiwob.{name}--{seed}")
            assert trajectory.outcome.success and trajectory.final_state()["raw_reward"] == 1
            assert "ANSWER" not in trajectory.steps[-1].reply  # the page's end is the episode's
    trajectory = read_trajectory(tmp_path / "taskminiwob.click-color--3")
    assert trajectory.outcome.verdict == "failure" and trajectory.ques.startswith("Click on the ")


@pytest.mark.slow
def test_every_task_starts_and_its_seed_decides() -> None:
    runs = []
    for seed in (0, 0, 1):
        world = World(env_seeds=(seed,))
        with world.serve():
            runs.append([task.ques for task in asyncio.run(world.tasks())])
    first, again, other = runs
    assert len(first) == len(miniwob.task_names()) >= 130 and all(first)
    assert first == again
    assert sum(one != two for one, two in zip(first, other, strict=True)) >= 80


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_expert_solves_thirty(expert: str, tmp_path: Path) -> None:
    done = collect(tmp_path, expert, "--max_iter", "15")
    assert done.returncode == 0, done.stderr
    verdicts = [read_trajectory(path).outcome for path in tmp_path.glob("taskminiwob.*")]
    assert len(verdicts) == len(miniwob.task_names())
    assert sum(outcome.success for outcome in verdicts) >= 30


def test_held_out_kinds_and_seeds_are_in_no_file_that_is_learned_from() -> None:
    """And the files hold what the action space can do at all."""
    folder = ROOT / "environments" / "miniwob" / "tasks"
    files = {path.stem: read_tasks(path) for path in folder.glob("*.jsonl")}
    kinds = {name: {task.web_name.removeprefix("miniwob.") for task in tasks} for name, tasks in files.items()}
    pages = {name: {task.web for task in tasks} for name, tasks in files.items()}
    assert kinds["train"] == kinds["validation"] == kinds["test"]
    assert not {family(kind) for kind in kinds["test_kinds"]} & {family(kind) for kind in kinds["train"]}
    assert kinds["train"] | kinds["test_kinds"] == set(doable("webvoyager"))
    assert len(set().union(*pages.values())) == sum(map(len, files.values()))


def test_the_table_of_tasks_says_what_was_measured() -> None:
    written = (ROOT / "docs" / "reference" / "miniwob_tasks.md").read_text()
    assert written == table()
    assert "enter-text | number | ✓ | ✓ | ✓" in written and "| time | time | time |" in written

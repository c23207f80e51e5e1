"""A world of another kind is a folder of environments/: agents work in it, judged and put back, without Chromium."""

import json
import shutil
import subprocess
import sys
from http.server import ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest

import environments
from common.errors import UserError
from data.trajectory import read_trajectory
from tests.conftest import ROOT

ROOMS = ("common", "data", "environments", "collection")


@pytest.fixture(scope="module")
def rooms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rooms that collect, and one folder more."""
    folder = tmp_path_factory.mktemp("rooms")
    for room in ROOMS:
        shutil.copytree(ROOT / room, folder / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(Path(__file__).parent / "another_world", folder / "environments" / "notepad")
    return folder


def run(rooms: Path, *command: str) -> subprocess.CompletedProcess:
    """Where no browser can be found."""
    environment = {"PATH": str(rooms / "empty"), "PYTHONPATH": str(rooms)}
    words = [sys.executable, *command]
    return subprocess.run(words, cwd=rooms, env=environment, capture_output=True, text=True, timeout=120)


def test_agents_are_collected_and_judged_there(
    rooms: Path, site: ThreadingHTTPServer, url: str, tmp_path: Path
) -> None:
    flags = ["--env", "notepad", "--api_localhost", f"{url}/predict", "--output_dir", str(tmp_path), "--seed", "1"]
    done = run(rooms, "collection/run.py", *flags)
    assert done.returncode == 0, done.stderr
    write, read = (read_trajectory(tmp_path / f"task{name}") for name in ("write", "read"))
    assert write.outcome.success and write.final_state() == {"notes": ["milk", "bread"]}
    assert write.steps[1].feedback and write.steps[1].notes == "One can only write here."
    assert "milk, bread" in write.trees[-1]
    assert read.outcome.success and "bread" not in read.trees[0]  # the pad was put back in between
    assert "contaminated_by" not in read.provenance
    assert write.provenance["paper"] == "white" and "browser" not in write.provenance


def test_exploration_finds_it_too(rooms: Path, url: str, tmp_path: Path) -> None:
    flags = ["--env", "notepad", "--api_localhost", f"{url}/predict", "--output_dir", str(tmp_path)]
    done = run(rooms, "collection/exploration_feedback.py", *flags, "--max_rerun_times", "2")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.glob("task*")) == ["taskread--run0", "taskwrite--run0"]


def test_programs_step_there(rooms: Path) -> None:
    program = """
import json, sys, environments
env = environments.make("notepad", max_steps=2)
env.reset("write")
first = env.step("Thought: t\\n\\nAction: Type [1]; bread")
last = env.step("Thought: t\\n\\nAction: ANSWER; done")
env.reset("write")
env.step("Thought: t\\n\\nAction: Type [1]; bread")
late = env.step("Thought: t\\n\\nAction: Type [1]; rice")
view = env.reset()
env.close()
chromium = [name for name in sys.modules if name.startswith("environments.browser")]
came = [[t.reward, t.terminated, t.truncated, t.info] for t in (first, last, late)]
print(json.dumps([*came, view.seen.tree, chromium]))
"""
    done = run(rooms, "-c", program)
    assert done.returncode == 0, done.stderr
    first, last, late, tree, chromium = json.loads(done.stdout)
    assert first == [0.0, False, False, {"notes": "It is written."}]
    assert last[:3] == [1.0, True, False] and last[3]["final_state"] == {"final_state": {"notes": ["milk", "bread"]}}
    assert late[:3] == [0.0, False, True] and late[3]["is_judged"]
    assert tree == "[1] textbox 'Notes: milk'" and chromium == []


@pytest.mark.skipif(not find_spec("gymnasium"), reason="needs the package gymnasium")
def test_gymnasium_finds_nothing_wrong_with_it(rooms: Path) -> None:
    program = """
import dataclasses, warnings, gymnasium, numpy, environments.gymnasium_adapter
from gymnasium.utils.env_checker import check_env
warnings.simplefilter("error")
env = gymnasium.make("elcano/notepad", size=(64, 48))
check_env(env.unwrapped, skip_render_check=True)
env.reset(options={"task": "write"})
print(env.step("Click [1]")[0]["last_action_error"][:26], env.step("Type [1]; bread")[1], env.step("ANSWER; done")[1:4])
for call in (lambda: env.reset(options={"task": 7}), lambda: env.step("ANSWER; done")):
    try:
        print(call())
    except Exception as error:
        print(error)
env.unwrapped._inner.tasks.append(dataclasses.replace(env.unwrapped._inner.tasks[0], id="7"))
print(env.reset(options={"task": numpy.int64(7)})[1], env.reset(options={"task": None}, seed=1)[1]["task"] != "")
env.close()
"""
    done = run(rooms, "-c", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "The action you have chosen 0.0 (1.0, True, False)",
        "there is no task 7; the first of 2 is 'write'",
        "the environment has no task: call reset, and if that was refused, call it again",
        "{'task': '7'} True",
    ]


def test_sessions_have_an_environment_each_and_give_it_back(rooms: Path) -> None:
    program = """
import asyncio
from environments.sessions import Sessions

async def play(sessions):
    one, other = sessions.open(), sessions.open()
    print((await one.reset("write")).task.id, (await other.reset(seed=0)).task.id, (await other.reset()).task.id)
    await one.step("Thought: t\\n\\nAction: Type [1]; bread")
    print((await one.step("Thought: t\\n\\nAction: ANSWER; done")).reward)
    for refused in (sessions.open, one.close, one.close, sessions.open, lambda: asyncio.run(one.reset())):
        try:
            await asyncio.to_thread(refused)
        except Exception as error:
            print(error)

with Sessions("notepad", 2) as sessions:
    asyncio.run(play(sessions))
"""
    done = run(rooms, "-c", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "write read write",
        "1.0",
        "all 2 environments are taken; close a session, or allow more",
        "this session is closed; open another",
    ]


def test_a_module_path_is_a_world_of_ones_own() -> None:
    env = environments.make("tests.environments.another_world.world", notes=["milk"])
    try:
        env.reset("read")
        assert env.step("Thought: t\n\nAction: ANSWER; milk").reward == 1
    finally:
        env.close()
    with pytest.raises(UserError, match=r"^the world no\.such: no module that has World"):
        environments.make("no.such")


def test_an_unknown_world_or_setting_is_one_line(rooms: Path) -> None:
    done = run(rooms, "collection/run.py", "--env", "atlantis", "--api_localhost", "http://127.0.0.1:9/predict")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "no world 'atlantis'; known are android, apps, miniwob, notepad, sites, touch, webarena" in done.stderr
    done = run(rooms, "-c", "import environments; environments.make('notepad', test_file='x')")
    assert "the world notepad has no setting 'test_file'; it has notes" in done.stderr

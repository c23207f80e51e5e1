"""Other libraries, as their package index has them, drive our applications: each in an environment of its own.

Slow, since they are installed: once, into a folder of the user's cache. They share the library folder of this Python
for what they may take from it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from common.files import locked
from environments.apps.application import home, make_app
from tests.conftest import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
OPENENV, TRL, VERIFIERS_WITH_IT = (
    ("openenv==0.10.0",),
    ("trl==1.16.0", "openenv==0.10.0"),
    ("verifiers[openenv]==0.4.0", "uv"),
)
APP, TASK = "roundup", "roundup.no-such-bug"
EDIT = "roundup.rename-bug"


@pytest.fixture(autouse=True)
def installed() -> None:
    if not make_app(APP).installed:
        pytest.skip(f"not installed: python -m environments.apps install {APP}")


def python_with(*packages: str) -> Path:
    """A Python that has these packages, and for the rest ours; made once."""
    folder = home().with_name("libraries") / re.sub(r"\W+", "-", " ".join(packages))
    python, mark = folder / "bin" / "python", folder / "whole"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        if not mark.exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        [place] = folder.glob("lib/python*/site-packages")
        (place / "zz_ours.pth").write_text(sysconfig.get_path("purelib"))  # after its own; pip takes from there, too
        if not mark.exists():
            subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
            mark.touch()
    return python


@pytest.fixture
def openenv() -> Path:
    return python_with(*OPENENV)


Serve = Callable[..., str]


@pytest.fixture
def serve(openenv: Path, spawn: Callable[..., subprocess.Popen]) -> Serve:
    """The OpenEnv server's address."""

    def start(*flags: object) -> str:
        command = ["-m", "environments.openenv_adapter", "--port", 0, "--env_tasks", *flags]
        process = spawn(*command, python=openenv, stdout=subprocess.PIPE)
        return re.search(r"http://\S+", process.stdout.readline())[0]

    return start


def run(python: Path, program: str, *words: str) -> str:
    done = subprocess.run(
        [python, *(("-c", program) if program else ()), *words],
        cwd=ROOT,
        env={**os.environ, "TRL_EXPERIMENTAL_SILENCE": "1", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=1500,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


CLIENTS = """
import sys
from openenv import GenericEnvClient
from data.conversation import StepText, build_chat
from environments.apps.expert.expert import reply

def expert(client, result):
    steps = [StepText(result.observation["text"])]
    while not result.done:
        said = reply(build_chat("", result.observation["goal"], result.observation["url"], steps, last_n=1))
        result = client.step({"reply": said})
        steps = [*steps[:-1], StepText(steps[-1].tree, reply=said), StepText(result.observation["text"])]
    return result.reward

url, task = sys.argv[1:]
with GenericEnvClient(base_url=url).sync() as one, GenericEnvClient(base_url=url).sync() as other:
    first, second = one.reset(task=task), other.reset(task=task)
    print(first.observation["text"] == second.observation["text"], "Action:" in first.observation["instructions"])
    print("expert", expert(one, first))
    print("nothing done", other.step({"reply": "ANSWER; done"}).reward)  # it does not see what the first one did
    print("answered", other.state()["answer"], other.state()["step_count"])
    after = one.step({"reply": "ANSWER; done"})
    print("after the end", after.reward, after.done)  # it was paid already
    print("again", expert(other, other.reset(task=task)))
    print("put back", one.reset(task=task).observation["text"] == first.observation["text"])
    try:
        one.reset(task="no-such-task")
    except RuntimeError as error:
        print(error)
    try:
        one.step({"reply": "ANSWER; done"})
    except RuntimeError as error:
        print(error)
"""


def test_openenvs_client_plays_and_two_clients_share_nothing(serve: Serve, openenv: Path) -> None:
    said = run(openenv, CLIENTS, serve(EDIT, "--num_sessions", 2, "--max_steps", 20), f"{EDIT}--0").splitlines()
    assert said[:-2] == [
        "True True",
        "expert 1.0",
        "nothing done 0.0",
        "answered done 1",
        "after the end 0.0 True",
        "again 1.0",
        "put back True",
    ]
    assert "there is no task 'no-such-task'" in said[-2] and "the environment has no task: call reset" in said[-1]


def test_trl_trains_on_it(serve: Serve) -> None:
    url = serve(TASK, "--env_seeds", 0, 1, "--num_sessions", 8, "--max_steps", 3)
    trl = python_with(*TRL)
    flags = ("--base_url", url, "--tasks", f"{TASK}--0", f"{TASK}--1", "--max_steps", "3")
    said = run(trl, "", "examples/openenv/grpo_with_trl.py", *flags)
    assert said.count("rewards [") == 3 and "train_runtime" in said


VERIFIERS = """
--env.taskset.base-url {url} --env.taskset.resets [{{"task":"{task}--0"}}] --env.player.harness.id null
--env.player.max-turns 3 --client.base-url {policy}/v1 --client.api-key-var NONE -m policy --no-push --no-rich -o {out}
"""


def test_verifiers_takes_an_episode(serve: Serve, spawn: Callable[..., subprocess.Popen], tmp_path: Path) -> None:
    python = python_with(*VERIFIERS_WITH_IT)
    weights = ROOT / "examples" / "quickstart" / "starting_policy" / "weights"
    policy = spawn("server/hf_online_server.py", "--model_name_or_path", weights, "--port", 0, stdout=subprocess.PIPE)
    address = re.search(r"http://\S+", policy.stdout.readline())[0].rstrip("/")
    flags = VERIFIERS.format(url=serve(TASK), task=TASK, policy=address, out=tmp_path / "out").split()
    run(python, "", str(python.parent / "vf-eval"), "openenv", *flags)
    [traces] = (tmp_path / "out").glob("**/traces.jsonl")
    assert "openenv_reward" in traces.read_text()


BROWSERGYM = """
import sys
import gymnasium
import environments.browsergym_adapter

env = gymnasium.make("browsergym/elcano." + sys.argv[1])
for action in ('report_infeasible("no such bug")', 'send_msg_to_user("done")'):
    observation, info = env.reset(seed=7)
    observation, reward, *_ = env.step("noop()")
    print(reward, env.step(action)[1:3], observation["last_action_error"] == "", bool(observation["axtree_object"]))
env.close()
"""


def put_chromium_where_playwright_looks(python: Path, folder: Path) -> None:
    """The system's, in the place of the one that Playwright would download."""
    [known] = python.parents[1].glob("lib/python*/site-packages/playwright/driver/package/browsers.json")
    [revision] = [each["revision"] for each in json.loads(known.read_text())["browsers"] if each["name"] == "chromium"]
    chrome = folder / f"chromium-{revision}" / "chrome-linux" / "chrome"
    chrome.parent.mkdir(parents=True)
    chrome.symlink_to(shutil.which("chromium") or pytest.skip("no chromium"))


def test_browsergym_takes_an_episode_with_its_own_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = python_with("browsergym-core==0.14.3")
    put_chromium_where_playwright_looks(python, tmp_path / "browsers")
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "browsers"))
    assert run(python, BROWSERGYM, TASK).splitlines() == ["0.0 (1.0, True) True True", "0.0 (0.0, True) True True"]

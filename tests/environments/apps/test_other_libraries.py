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
AGENTLAB = ("agentlab==0.4.2",)
APP, TASK = "roundup", "roundup.no-such-bug"
EDIT = "roundup.rename-bug"


@pytest.fixture(autouse=True)
def installed() -> None:
    if not make_app(APP).installed:
        pytest.skip(f"not installed: python -m environments.apps install {APP}")


def python_with(*packages: str, has_torch: bool = True) -> Path:
    """A Python that has these packages, and for the rest ours; made once. `has_torch`: pip takes that from ours. Else
    uv installs all but torch, where pip tries versions for more than 25 minutes."""
    folder = home().with_name("libraries") / re.sub(r"\W+", "-", " ".join(packages))
    python, mark = folder / "bin" / "python", folder / "whole"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        if not mark.exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        [place] = folder.glob("lib/python*/site-packages")
        (place / "zz_ours.pth").write_text(sysconfig.get_path("purelib"))  # after its own; pip takes from there, too
        if not mark.exists():
            if has_torch:
                subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
            else:
                subprocess.run([python, "-m", "pip", "install", "--quiet", "uv"], check=True)
                (folder / "ours.txt").write_text("torch; python_version < '3'")
                uv = [python, "-m", "uv", "pip", "install", "--quiet", "--python", python, "--override"]
                subprocess.run([*uv, folder / "ours.txt", *packages], check=True)
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
model = "weights"
push = false
[env.taskset]
id = "openenv"
base_url = "{url}"
resets = [{{task = "{task}--0"}}]
[env.player]
max_turns = 2  # of more the policy reads too many tokens
harness = {{id = "null"}}
runtime = {{type = "subprocess"}}
[client]
base_url = "{policy}/v1"
"""


@pytest.fixture
def policy(spawn: Callable[..., subprocess.Popen]) -> str:
    """The address of the quickstart's first policy, which is called `weights`."""
    weights = ROOT / "examples" / "quickstart" / "starting_policy" / "weights"
    process = spawn("server/hf_online_server.py", "--model_name_or_path", weights, "--port", 0, stdout=subprocess.PIPE)
    return re.search(r"http://\S+", process.stdout.readline())[0].rstrip("/")


def test_verifiers_takes_an_episode(serve: Serve, policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = python_with(*VERIFIERS_WITH_IT)
    monkeypatch.setenv("PATH", f"{python.parent}:{os.environ['PATH']}")  # it looks for uv there
    asked = tmp_path / "elcano.toml"
    asked.write_text(VERIFIERS.format(url=serve(TASK), task=TASK, policy=policy))
    run(python, "", str(python.parent / "vf-eval"), "@", str(asked), "--no-rich", "-o", str(tmp_path / "out"))
    [traces] = (tmp_path / "out").glob("**/traces.jsonl")
    [episode] = traces.read_text().splitlines()
    assert '"openenv_reward"' in episode and "max_turns" in episode and "ProviderError" not in episode


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


STUDY = """
import sys
from dataclasses import dataclass

import bgym
from agentlab.agents.agent_args import AgentArgs
from agentlab.agents.generic_agent import GenericAgentArgs
from agentlab.agents.generic_agent.agent_configs import FLAGS_GPT_3_5
from agentlab.experiments.study import make_study
from agentlab.llm.chat_api import OpenAIModelArgs

import environments.browsergym_adapter

ACTIONS = bgym.HighLevelActionSetArgs(subsets=("chat", "infeas", "bid"))

@dataclass
class SaysNo(AgentArgs):
    def make_agent(self):
        return NoAgent()

class NoAgent(bgym.Agent):
    action_set = ACTIONS.make_action_set()

    def get_action(self, obs):
        return 'report_infeasible("no such bug")' if obs["last_action"] else "noop()", bgym.AgentInfo()

model = OpenAIModelArgs(model_name="weights", max_total_tokens=3000, max_new_tokens=40)
benchmark = bgym.Benchmark(
    name="elcano",
    high_level_action_set_args=ACTIONS,
    is_multi_tab=False,
    supports_parallel_seeds=True,
    backends=[],
    env_args_list=[bgym.EnvArgs("elcano." + sys.argv[1], task_seed=7, max_steps=5)],
)
study = make_study([GenericAgentArgs(chat_model_args=model, flags=FLAGS_GPT_3_5, max_retry=1), SaysNo()], benchmark)
study.run(n_jobs=1, parallel_backend="sequential", n_relaunch=1, exp_root=sys.argv[2])
results, *_ = study.get_results()
for row in results.reset_index().to_dict("records"):
    print("result", row["agent.agent_name"], row["err_msg"], row["n_steps"], row["cum_reward"])
"""


def test_agentlab_runs_a_study(policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that writes no action ends its episode; an agent of AgentLab's that acts is paid."""
    python = python_with(*AGENTLAB, has_torch=False)
    put_chromium_where_playwright_looks(python, tmp_path / "browsers")
    [litellm] = python.parents[1].glob("lib/python*/site-packages/litellm/litellm_core_utils/tokenizers")
    (tmp_path / "nltk" / "tokenizers" / "punkt_tab").mkdir(parents=True)
    for name, value in {
        "PLAYWRIGHT_BROWSERS_PATH": tmp_path / "browsers",
        "NLTK_DATA": tmp_path / "nltk",  # for WebArena's, which it downloads at once
        "TIKTOKEN_CACHE_DIR": litellm,  # it would download the same
        "OPENAI_BASE_URL": f"{policy}/v1",
        "OPENAI_API_KEY": "none",
    }.items():
        monkeypatch.setenv(name, str(value))
    said = run(python, STUDY, TASK, str(tmp_path / "study"))
    results = sorted(line for line in said.splitlines() if line.startswith("result"))
    assert results == ["result GenericAgent-weights None 0 0.0", "result SaysNo None 2 1.0"]

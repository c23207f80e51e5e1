"""Embedded websites in a few lines: one environment or several, blocking or not, and as Gymnasium has it."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import environments
from collection.agent.loading import LoadedPolicy, load_policy
from common import processes
from common.errors import UserError
from common.processes import listen, served
from environments.sessions import Session, Sessions
from tests.conftest import ROOT
from tests.waiting import wait_until

TASKS = ("Shop-price-test--000", "Forum-views-test--000")


@pytest.fixture
def policy(spawn: Callable[..., subprocess.Popen]) -> Iterator[LoadedPolicy]:
    """The embedded teacher."""
    process = spawn("environments/sites/expert/server.py", "--port", "0", stdout=subprocess.PIPE)
    with load_policy(process.stdout.readline().strip().rpartition(" ")[2], model="teacher") as policy:
        yield policy


def test_open_an_environment_load_a_policy_step(policy: LoadedPolicy) -> None:
    with environments.make("sites") as env:
        view = env.reset(TASKS[0], seed=3)
        assert view.task.id == TASKS[0] and "Cargo" in view.seen.tree
        terminated = False
        while not terminated:
            view, reward, terminated, truncated, info = env.step(policy.act(view))
            assert not truncated
        assert reward == 1.0 and info["answer"] and len(view.steps) >= 3
        view = env.reset(TASKS[0])  # a fresh browser context, and a conversation of its own
        assert len(view.steps) == 1
        *_, truncated, _ = env.step("nonsense")
        view, reward, *_ = env.step("Thought: I guess.\n\nAction: ANSWER; 1 EUR")
        assert view.steps[1].feedback.startswith("Format ERROR") and reward == 0.0
        with pytest.raises(UserError, match="there is no task 'x'"):
            env.reset("x")


def test_nothing_is_left_of_a_program_that_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    code = "import environments; env = environments.make('sites'); env.reset(); print('open', flush=True); input()"
    program = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert program.stdout.readline() == "open\n" and list(tmp_path.glob("elcano-downloads-*"))
    program.kill()
    program.wait()
    wait_until(lambda: not list(tmp_path.glob("elcano-*")))


def test_several_at_once_blocking_or_not(policy: LoadedPolicy) -> None:
    with environments.make("sites", num_envs=2) as envs:
        views = envs.reset(TASKS)
        rewards = []
        while not rewards:
            transitions = envs.step(policy.act(views))
            views = [transition.view for transition in transitions]
            if all(transition.terminated for transition in transitions):
                rewards = [transition.reward for transition in transitions]
        assert rewards == [1.0, 1.0] and [view.task.id for view in views] == list(TASKS)

    async def go() -> list[float]:
        async with environments.make_async("sites", num_envs=2, max_steps=2) as envs:
            views = await envs.reset(seed=1)
            assert [view.task.id for view in views] == [task.id for task in envs.tasks[:2]]
            transitions = await envs.step(await policy.act_async(views))
            transitions = await envs.step(["Thought: t\n\nAction: Click [999]"] * 2)
            return [transition.truncated for transition in transitions]

    assert asyncio.run(go()) == [True, True]


def test_a_session_of_a_server_pays_a_reward_once() -> None:
    """Clients of OpenEnv add up rewards, and some step on after the end."""

    async def play(session: Session) -> list[tuple[float, bool]]:
        view = await session.reset(TASKS[0])
        price = view.task.eval["reference_answers"]["must_include"][0]
        steps = [await session.step(f"Thought: t\n\nAction: ANSWER; {price}") for _ in range(2)]
        return [(step.reward, step.terminated) for step in steps]

    with Sessions("sites", 1) as sessions:
        session = sessions.open()
        assert [asyncio.run(play(session)) for _ in range(2)] == [[(1.0, True), (0.0, True)]] * 2
        session.close()


def test_what_does_not_fit_is_one_line() -> None:
    for wrong in ({"num_envs": -1}, {"num_envs": 0}, {"max_steps": 0}, {"max_steps": "9"}):
        with pytest.raises(UserError, match="must be at least 1"):
            environments.make("sites", **wrong)
    with environments.make("sites", num_envs=2) as envs:
        for wrong, said in (
            (["Wait"], "1 replies for 2 environments"),
            (["Wait", "Wait", "Wait"], "3 replies for 2 environments"),
            ("ab", "'ab' is no list of replies"),
            (["Wait", 3], "a reply is a text .* not 3"),
        ):
            with pytest.raises(UserError, match=said):
                envs.step(wrong)
    with pytest.raises(UserError, match="closed again"):
        envs.reset()
    with pytest.raises(UserError, match="not open"):
        asyncio.run(environments.make_async("sites").reset())


def test_a_program_that_does_not_close_ends_quietly() -> None:
    program = "import environments; env = environments.make('sites'); env.reset()"
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0 and "Traceback" not in ended.stderr


def test_as_gymnasium_has_it() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    import environments.gymnasium_adapter  # noqa: F401 - registers the worlds

    env = gymnasium.make("elcano/sites", max_steps=5, size=(512, 384))
    observation, info = env.reset(options={"task": TASKS[0]})
    assert info == {"task": TASKS[0]} and observation["goal"].startswith("I want you to find the price")
    assert observation["screenshot"].shape == (384, 512, 3) and env.observation_space.contains(observation)
    observation, *_ = env.step("Click [999]")
    assert observation["last_action"] == "Click [999]" and "cannot be executed" in observation["last_action_error"]
    with pytest.raises(UserError, match=r"an action is a text such as 'Click \[4\]', not 3"):
        env.step(3)
    _, reward, terminated, truncated, info = env.step("ANSWER; 1 EUR")
    assert (reward, terminated, truncated, info["answer"]) == (0.0, True, False, "1 EUR")
    env.close()


@pytest.mark.slow
def test_the_lines_of_the_documentation_run() -> None:
    """With the starting policy, served for it."""
    page = (ROOT / "docs" / "reference" / "environments.md").read_text()
    [program] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    lived = {}
    exec(program, lived)
    assert lived["terminated"] or lived["truncated"]


def test_a_port_that_is_taken_meanwhile_is_no_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with listen(0) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(processes, "free_port", lambda preferred: port)
        with served("environments.sites", port) as other:
            assert other != port
        assert capfd.readouterr().err == ""
        with (
            pytest.raises(UserError, match=r"tests\.nothing did not start: .*No module named"),
            served("tests.nothing"),
        ):
            pass


def test_what_a_program_must_give_is_named_as_it_gives_it(tmp_path: Path) -> None:
    """Not as a command's flag. With the lines of the documentation."""
    (tmp_path / "tasks.jsonl").write_text('{"id": "1", "ques": "q", "web": "http://127.0.0.1:9/"}')
    with pytest.raises(UserError, match=r"add browser=BrowserConfig\(private_hosts=...\) 127.0.0.1:9"):
        environments.make("sites", test_file=tmp_path / "tasks.jsonl")
    with pytest.raises(UserError, match="tell by sites_port= where"):
        environments.make("sites", sites_port=9)
    with pytest.raises(UserError, match=r"^test_file= is missing"):
        environments.make("webarena")
    page = ROOT / "docs" / "reference" / "environments.md"
    [line] = re.findall(r"^from environments.*import BrowserConfig$", page.read_text(), re.M)
    exec(line)

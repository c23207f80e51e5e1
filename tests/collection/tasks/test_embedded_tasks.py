"""`run.py` and `exploration_feedback.py` without a task file: their own tasks and websites, and one line."""

import json
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from collection.campaign.opening import opened
from collection.config.commands import RunConfig
from common.defaults import TEST_TASKS
from common.errors import UserError
from data.outcome import Verdict
from data.task import read_tasks
from data.trajectory import read_outcome
from tests.conftest import ROOT, in_foreground

HIDDEN = ("OPENAI_API_KEY", "DISPLAY", "WAYLAND_DISPLAY")


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in HIDDEN} | {"PYTHONPATH": str(ROOT)}


def start(script: str, folder: Path, teacher: str, *flags: str) -> subprocess.Popen:
    command = [sys.executable, str(ROOT / "collection" / script), "--api_base", teacher, "--num_sessions", "2", *flags]
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=in_foreground,
    )


def wait_for_verdicts(results: Path, number: int) -> list[Path]:
    deadline = time.monotonic() + 200
    while len(done := [folder for folder in results.glob("task*") if read_outcome(folder)]) < number:
        assert time.monotonic() < deadline, "no trajectory came"
        time.sleep(0.2)
    return done


def websites_of(run: subprocess.Popen) -> list[psutil.Process]:
    return [child for child in psutil.Process(run.pid).children() if "environments.sites" in child.cmdline()]


@pytest.mark.parametrize(
    ("script", "tasks", "how"),
    [
        ("run.py", "test.jsonl", signal.SIGINT),
        ("run.py", "test.jsonl", signal.SIGKILL),
        ("exploration_feedback.py", "optim-1.jsonl", signal.SIGTERM),
    ],
)
def test_embedded_tasks_are_solved_on_websites_that_go_with_the_run(
    script: str, tasks: str, how: int, teacher: str, tmp_path: Path
) -> None:
    """Without a display too. The test tasks are not explored, which is why exploration takes others."""
    run = start(script, tmp_path, teacher)
    said = run.stderr.readline()
    assert f"no --test_file: the 75 embedded tasks of {ROOT / 'data' / 'tasks' / tasks}" in said
    assert "their websites on port" in said and "no display: browsers run as with --headless" in said
    [folder, *_] = wait_for_verdicts(tmp_path / "results", 1)
    assert folder.name.removeprefix("task").partition("--run")[0] in {
        task.id for task in read_tasks(ROOT / "data" / "tasks" / tasks)
    }
    assert read_outcome(folder).verdict == Verdict.SUCCESS  # judged by ground truth, unasked
    [websites] = websites_of(run)
    run.send_signal(how)
    output, errors = run.communicate(timeout=240)
    assert "Traceback" not in errors + output
    assert how == signal.SIGKILL or "is in results, and the same command goes on from there" in errors
    assert run.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}[how]
    websites.wait(timeout=30)


def test_a_dry_run_starts_nothing(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "collection" / "run.py"), "--dry_run"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0 and "port" not in done.stderr and "75" in done.stdout


def test_without_a_policy_one_line_says_what_to_give(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "collection" / "run.py")]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=240)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "--api_localhost for your own server" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "script",
    [
        "collection/run.py",
        "collection/exploration_feedback.py",
        "collection/pool.py",
        "server/hf_online_server.py",
        "toolkits/convert_trajectories_to_json.py",
        "toolkits/convert_to_tar_data.py",
        "toolkits/import_data.py",
        "environments/sites/__main__.py",
        "environments/sites/expert/server.py",
    ],
)
def test_another_python_than_the_installed_one_is_one_line(script: str, tmp_path: Path) -> None:
    """`-S -E` hides the virtual environment as a shell where it is not activated does."""
    command = [sys.executable, "-S", "-E", str(ROOT / script), "--port", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    [line] = done.stderr.splitlines()
    assert done.returncode == 2
    assert line.startswith("error: No module named") and f"bash {ROOT}/install.sh && source {ROOT}/.venv" in line


def test_without_a_clone_an_extra_is_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "common").mkdir()
    file = shutil.copy(ROOT / "common" / "not_installed.py", tmp_path / "common")
    assert "'elcano[serve]'" in runpy.run_path(file)["way_out"]()


def dry_run(script: str, *flags: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(ROOT / "collection" / script), "--dry_run", *flags]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("script", ["run.py", "exploration_feedback.py"])
def test_only_the_named_tasks_are_taken_in_every_world(script: str) -> None:
    """The default world once took all 75, whatever was named, and told nobody."""
    split = "test" if script == "run.py" else "optim-1"
    names = [task.id for task in read_tasks(ROOT / "data" / "tasks" / f"{split}.jsonl")][:2]
    done = dry_run(script, "--env_tasks", *names)
    assert done.returncode == 0 and re.search(r"\ball\s+2\b", done.stdout), done.stderr
    done = dry_run(script, "--env_tasks", names[0], "Forum-nope")
    assert done.returncode == 2 and not done.stdout
    assert re.fullmatch(r"error: --env_tasks Forum-nope: none of the \d+ tasks .*\n", done.stderr)


def test_flags_of_another_world_are_refused() -> None:
    for flags, said in (
        (["--env_seeds", "3"], "--env_seeds means nothing to --env sites"),
        (["--env", "miniwob", "--sites_port", "7070"], "--sites_port means nothing to --env miniwob"),
        (["--env", "webarena", "--sites_port", "7070"], "--sites_port means nothing to --env webarena"),
    ):
        done = dry_run("run.py", *flags)
        assert done.returncode == 2 and done.stderr == f"error: {said}; leave it out\n"


@pytest.mark.parametrize(
    ("world", "flags", "said"),
    [
        ("android", {"fix_box_color": True}, "--fix_box_color means nothing to --env android; leave it out"),
        ("android", {"tree_visibility": "complete"}, "--tree_visibility means nothing to --env android; leave it out"),
        ("android", {"window_width": 800}, "--window_width means nothing to --env android; leave it out"),
        ("android", {"deny_hosts": ("a.org",)}, "--deny_hosts means nothing to --env android; leave it out"),
        ("touch", {"window_height": 800}, "--window_height means nothing to --env touch, whose window is 412 x 915"),
        ("touch", {"force_device_scale": False}, "--force_device_scale means nothing to --env touch"),
    ],
)
def test_flags_of_browsers_and_windows_are_refused_where_there_are_none(world: str, flags: dict, said: str) -> None:
    with (
        pytest.raises(UserError, match=f"^{re.escape(said)}"),
        opened(RunConfig(env=world, dry_run=True, **flags), TEST_TASKS),
    ):
        pass


@pytest.mark.parametrize("world", ["touch", "sites"])
def test_other_flags_of_browsers_are_taken(world: str) -> None:
    flags = {"tree_visibility": "complete", **({"window_width": 800} if world == "sites" else {})}
    with opened(RunConfig(env=world, dry_run=True, **flags), TEST_TASKS) as (_, _, tasks):
        assert tasks


@pytest.mark.parametrize("host", ["127.0.0.1", "169.254.169.254", "2130706433"])
def test_a_dry_run_shows_what_would_be_refused(host: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text(json.dumps({"id": "1", "ques": "q", "web": f"http://{host}:9555/"}))
    done = dry_run("run.py", "--test_file", str(tmp_path / "tasks.jsonl"))
    assert done.returncode == 2 and "all" in done.stdout
    [line] = done.stderr.splitlines()
    assert line.startswith(f"error: task 1: begins at {host}") and "add --private_hosts" in line

"""`elcano try` as it is typed: the policy of a run's folder on a task of one's own."""

import dataclasses
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from common.errors import UserError
from data.task import SITES
from elcano.executors.executor import load_executor
from elcano.recipe import load_recipe
from elcano.trial import example, said_while, try_task
from environments.sites.content import Content
from tests.conftest import ROOT

RECIPE = ROOT / "examples" / "quickstart" / "recipe.py"
STARTING_POLICY = ROOT / "examples" / "quickstart" / "starting_policy" / "weights"


def type_task(task: str, run_dir: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "elcano.cli", "try", str(RECIPE), task, "--output_dir", str(run_dir)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)


def test_the_newest_policy_says_each_step_of_a_typed_task(tmp_path: Path) -> None:
    shutil.copytree(STARTING_POLICY, tmp_path / "IL" / "policy")
    done = type_task("find the price of a lamp.", tmp_path)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    told = re.compile(r"the policy of IL on http://shop\.localhost:\d+/: find the price of a lamp\.")
    begin = next(number for number, line in enumerate(said) if told.fullmatch(line))
    assert said[begin + 1 :] and any(line.startswith("1. ") for line in said)
    assert said[-2].startswith("it ended: ") and said[-1] == f"look: elcano view {tmp_path} (set tries, tasktyped--000)"
    assert list((tmp_path / "tries" / "tasktyped--000").glob("screenshot*.png"))


def test_a_reply_without_an_action_is_told_with_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replies = {"Thought: t.\n\nAction: GoBack": 9, "Thought: the loop of the loop": 128, "hello": 2}
    lines = [{"number": at, "reply": text, "completion_tokens": n} for at, (text, n) in enumerate(replies.items(), 1)]
    (tmp_path / "steps.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with said_while(tmp_path / "steps.jsonl", max_new_tokens=128):
        pass
    assert capsys.readouterr().out.splitlines() == [
        "1. Thought: t. Action: GoBack",
        "2. Thought: the loop of the loop",
        "   no action can be read in it: it was cut at 128 tokens",
        "3. hello",
        "   no action can be read in it",
    ]


def test_without_a_trained_policy_one_line_says_what_to_do(tmp_path: Path) -> None:
    done = type_task("find a lamp.", tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "no policy is trained there yet; elcano run with the same recipe and --output_dir" in done.stderr


def test_a_recipes_run_is_looked_for_by_its_name(tmp_path: Path) -> None:
    """Which is where the recipes of examples/ say that they are run."""
    command = [sys.executable, "-m", "elcano.cli", "try", str(RECIPE), "find a lamp."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and f"{tmp_path}/runs/quickstart: no policy is trained there yet" in done.stderr


def test_a_finished_run_suggests_a_task_of_its_own_kind() -> None:
    assert example(load_recipe(RECIPE)) == "'I want you to find the price of \"Teyaf Indigo\".' --web shop"
    assert example(load_recipe(RECIPE), "Wiki-fact-test--000").endswith(" --web encyclopedia")
    looking = load_recipe(ROOT / "examples" / "looking" / "recipe.py")
    assert example(looking) == "'find \"Vinmad 72\" and tell the color of its shape.' --web gallery"


def test_a_website_that_is_not_there_is_said(tmp_path: Path) -> None:
    (tmp_path / "IL" / "policy").mkdir(parents=True)
    shutil.copy(STARTING_POLICY / "config.json", tmp_path / "IL" / "policy")
    recipe = load_recipe(RECIPE)
    with pytest.raises(UserError, match="--web nosuch: there are shop, encyclopedia, forum, timetable, gallery; or"):
        try_task(recipe, tmp_path, load_executor("local"), "find a lamp", "nosuch")
    assert tuple(field.name for field in dataclasses.fields(Content)) == SITES

"""A policy is tested while the next round explores, where the recipe overlaps them: by one server, if both need it."""

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from common.defaults import ROOT
from common.errors import UserError
from common.files import write_json
from elcano.executors.executor import Command
from elcano.executors.local import Executor
from elcano.recipe import load_recipe
from elcano.resources import ANY, Resources
from elcano.rounds import run_rounds

NOTHING = {"success_rate": 0.0, "num_tasks": 1, "num_success": 0, "num_invalid": 0, "mean_steps": 1.0, "outcomes": {}}


class Noted:
    """An executor that starts nothing and notes in order what it was told: + begins, - ends."""

    runs_beside = True

    def __init__(self, run_dir: Path):
        self.run_dir, self.noted = run_dir, []

    def run(self, command: Command, resources: Resources = ANY) -> None:
        name, stage = command.log.parent.parent.name, command.log.stem
        self.noted.append(f"{name} {stage}")
        if stage == "select":
            write_json(self.run_dir / name / "samples.json", [])
        if stage == "evaluation":
            write_json(self.run_dir / name / "test" / "summary.json", NOTHING)

    @contextlib.contextmanager
    def beside(self, command: Command, resources: Resources = ANY) -> Iterator[None]:
        self.noted.append(f"+{command.log.parent.parent.name} {command.log.stem}")
        yield
        self.noted.append(f"-{command.log.parent.parent.name} {command.log.stem}")

    @contextlib.contextmanager
    def service(
        self, command: Callable[[str, int], Command], health: str, resources: Resources = ANY, wanted_port: int = 0
    ) -> Iterator[str]:
        log = command("127.0.0.1", 7070).log
        self.noted.append(f"+{log.parent.parent.name} {log.stem}")
        yield "http://127.0.0.1:7070"
        self.noted.append(f"-{log.parent.parent.name} {log.stem}")


@pytest.fixture
def noted(tmp_path: Path) -> Callable[[bool], list[str]]:
    def run(overlap: bool) -> list[str]:
        recipe = load_recipe(ROOT / "examples" / "quickstart" / "recipe.py")
        executor, run_dir = Noted(tmp_path / str(overlap)), tmp_path / str(overlap)
        for result in run_rounds(dataclasses.replace(recipe, overlap=overlap), run_dir, executor):
            executor.noted.append(f"result {result.name}")
        return executor.noted

    return run


def test_a_test_is_done_within_the_exploration_beside_it(noted: Callable[[bool], list[str]]) -> None:
    said = noted(True)
    begin, end = said.index("+IL trajectories"), said.index("-IL trajectories")
    assert said[begin + 1] == "+untrained server"  # the teacher explores, and needs none
    tested = ["untrained test", "-untrained server", "untrained evaluation", "result untrained", "IL hf2mg"]
    assert said[begin + 2 : end] == tested
    begin, end = said.index("+optim-1 trajectories"), said.index("-optim-1 trajectories")
    assert said[begin + 1 : end] == ["IL test", "IL evaluation", "result IL", "optim-1 hf2mg"]
    assert said[begin - 2 : begin] == ["+optim-1 sites", "+optim-1 server"]  # the test's as well
    assert said.count("+IL server") == 0


def test_otherwise_one_comes_behind_the_other(noted: Callable[[bool], list[str]]) -> None:
    said = [line for line in noted(False) if line[0] not in "+-"]
    tested = ["IL test", "IL evaluation", "result IL", "optim-1 hf2mg", "optim-1 trajectories"]
    assert said[: said.index("result IL") + 3][-5:] == tested


@pytest.mark.parametrize(
    ("part", "values", "named"),
    [
        ("testing", {"reset_command": "make reset"}, "testing sets reset_command"),
        ("exploration", {"site_interval_s": 2.0}, "exploration sets site_interval_s"),
        ("testing", {"site_concurrency": 1}, "testing sets site_concurrency"),
        ("testing", {"env": "webarena"}, "testing sets env='webarena'"),
    ],
)
def test_what_two_collectors_do_not_share_is_refused(part: str, values: dict[str, object], named: str) -> None:
    recipe = load_recipe(ROOT / "examples" / "quickstart" / "recipe.py")
    with pytest.raises(UserError, match=f"{named}, .* give overlap=False"):
        dataclasses.replace(recipe, **{part: dataclasses.replace(getattr(recipe, part), **values)})


def test_what_runs_beside_others_goes_behind_them(tmp_path: Path) -> None:
    executor = Executor()
    log, group = tmp_path / "log", Path("/proc/self/autogroup")
    shell = f"nice; if [ -r {group} ]; then sed 's/.*nice //' {group}; fi"  # of the process and of its session
    for run in (executor.run, executor.beside):
        with run(Command(["sh", "-c", shell], log)) or contextlib.nullcontext():
            pass
    said = [int(line) for line in log.read_text().splitlines() if not line.startswith("$")]
    own = os.nice(0)
    assert said == ([own, 0, own + 5, 5] if group.exists() else [own, own + 5])

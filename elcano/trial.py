"""A trained policy at work on a task that somebody types: `elcano try`."""

import contextlib
import dataclasses
import itertools
import json
import shlex
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common.defaults import short
from common.errors import UserError
from common.files import read_object
from common.shown.terminal import printable
from data.actions.action import ActionError, parse_reply
from data.task import SITES, SITES_PORT, Task, move_sites, read_tasks, write_tasks
from data.trajectory import folder_name
from elcano.console import console
from elcano.executors.executor import Executor
from elcano.recipe import Recipe, files
from elcano.rounds import Stages
from elcano.stages.stage import Logbook

NAME = "tries"
_LOOK_S = 0.3


def try_task(recipe: Recipe, run_dir: Path, executor: Executor, ques: str, web: str) -> None:
    """Take the task with the run's newest policy, say each step as it is taken, and what came of it."""
    name, policy = newest_policy(recipe, run_dir)
    output_dir = run_dir / NAME
    if "://" not in web:
        check_site(web)
    file = _new_file(output_dir)
    task = Task(file.stem, ques, web if "://" in web else _address(web))
    write_tasks(file, [task])
    folder = output_dir / folder_name(task.id)
    own = f"{NAME}/{task.id}"  # two of them at once end nothing of each other
    stages = Stages(recipe, run_dir, Logbook(run_dir), executor)
    said = said_while(folder / "steps.jsonl", recipe.serving.max_new_tokens)
    with stages.websites(own) as port, stages.policy(own, policy) as url, said:
        [there] = move_sites([task], port)
        _say(f"the policy of {name} on {there.web}: {printable(ques)}")
        config = dataclasses.replace(recipe.testing, api_localhost=(url,), temperature=0, judge="none")
        stages.browse(own, config, file, output_dir, port)
    ended = read_object(folder / "trajectory.json")
    _say(f"it ended: {ended['status']}, answer: {printable(str(ended.get('answer')))}")
    _say(f"look: elcano view {short(run_dir)} (set {NAME}, {folder.name})")


def example(recipe: Recipe, wanted: str | None = None) -> str:
    """A test task as words of `elcano try`: the one whose id is `wanted`, or the first."""
    tasks = [task for file in files(recipe.test_tasks) for task in read_tasks(file)]
    task = next((task for task in tasks if task.id == wanted), tasks[0])
    site = task.web.removeprefix("http://").removesuffix(f".localhost:{SITES_PORT}/")
    return f"{shlex.quote(task.ques)} --web {site if _address(site) == task.web else task.web}"


def newest_policy(recipe: Recipe, run_dir: Path) -> tuple[str, Path]:
    """The last round that has a policy, and its folder."""
    for round in reversed(recipe.rounds):
        if (policy := run_dir / round.name / "policy" / "config.json").exists():
            return round.name, policy.parent
    raise UserError(f"{run_dir}: no policy is trained there yet; elcano run with the same recipe and --output_dir")


def check_site(name: str) -> None:
    """`UserError` for what is none of the embedded websites."""
    if name not in SITES:
        raise UserError(f"--web {name}: there are {', '.join(SITES)}; or give an address that begins with http://")


def _new_file(output_dir: Path) -> Path:
    """The first `typed--<number>.jsonl` that nobody has, made here so that nobody else takes it."""
    output_dir.mkdir(parents=True, exist_ok=True)
    numbers = itertools.count()
    while True:
        file = output_dir / f"typed--{next(numbers):03d}.jsonl"
        with contextlib.suppress(FileExistsError):
            file.touch(exist_ok=False)
            return file


def _say(line: str) -> None:
    console.print(line, markup=False, soft_wrap=True)


def _address(site: str) -> str:
    return f"http://{site}.localhost:{SITES_PORT}/"


@contextlib.contextmanager
def said_while(steps: Path, max_new_tokens: int) -> Iterator[None]:
    """Print the replies of a trajectory while it is taken, and which are of no use."""
    ended, num_said = threading.Event(), 0

    def say() -> None:
        nonlocal num_said
        lines = steps.read_text(encoding="utf-8").split("\n")[:-1] if steps.exists() else []
        for line in lines[num_said:]:
            step = json.loads(line)
            _say(f"{step['number']}. {printable(' '.join(step['reply'].split()))}")
            if fault := _fault(step, max_new_tokens):
                _say(f"   {fault}")
        num_said = len(lines)

    def watch() -> None:
        while not ended.wait(_LOOK_S):
            say()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        say()


def _fault(step: dict[str, Any], max_new_tokens: int) -> str:
    """Why a reply led to no action; empty for one that did."""
    if step.get("actions"):  # by coordinates, in a form of their own
        return ""
    try:
        parse_reply(step["reply"])
    except ActionError:
        cut = f": it was cut at {max_new_tokens} tokens" if step["completion_tokens"] >= max_new_tokens else ""
        return f"no action can be read in it{cut}"
    return ""

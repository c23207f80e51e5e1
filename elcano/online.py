"""An online run on this machine: server, pool and trainer side by side, each started again when it dies, until Ctrl-C.

They are the commands that a person could start apart, on machines of their own, and they meet through the run's folder
and HTTP alone; what this adds is that they are begun in order, watched and ended together.
"""

import contextlib
import dataclasses
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from collection.config.commands import PoolConfig
from common.cli import parse
from common.errors import UserError
from common.files import read_object, write_atomic
from common.options.flags import flags
from common.processes import hold, threads_each
from data.online_run import OnlineRun
from elcano.child import begin
from elcano.console import console
from elcano.executors.executor import Command, python
from elcano.executors.local import end, last_words, wait_until_healthy
from elcano.folders import HF2MG
from elcano.recipe import load_value
from server.config import ServerConfig

_LOOK_S, _TELL_S = 1.0, 30.0
_ANYWHERE = "http://127.0.0.1/predict"
_YOUNG_S = 60.0
"""One that ends sooner was never at work."""
_MOST_YOUNG = 4
"""Such ends in a row after which the run ends, too."""
_SHARED = ("groups_per_step", "max_lag")
"""Flags of the pool and of the trainer that must be equal."""
REFUSED = 2
"""Exit code of a command that says what must be put right: it would say so again."""
_PAUSE_S = 2.0
"""Before a program is begun again; doubled with each early end."""


@dataclasses.dataclass(frozen=True)
class OnlineRecipe:
    """What an online run is made of. `collection` and `training` are the flags of collection/pool.py and of the
    trainer, by name, but for those that say where things are."""

    policy: Path
    """Hugging Face folder of the policy to begin with."""
    tasks: Path
    """Task file; the run has a copy of its own, which may be appended to."""
    collection: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    training: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    serving: ServerConfig = dataclasses.field(default_factory=ServerConfig)
    trainer: tuple[str, ...] = ("bash", "training/train_online.sh")
    """The trainer's command. It gets --run_dir, --api_localhost and, with `converts`, --pretrain_checkpoint_path."""
    converts: bool = True
    """Whether the trainer begins with a Megatron checkpoint, which is made of `policy`."""


def load_online_recipe(path: Path) -> OnlineRecipe:
    """What `online()` of a Python file returns. `UserError` where there is none."""
    return load_value(path, "online", OnlineRecipe)


def run_online(recipe: OnlineRecipe, run_dir: Path) -> None:
    """Until one of the three has done all it was to do, or Ctrl-C.

    Raises:
        UserError: one of them cannot be started, or ends again and again.
    """
    run = OnlineRun(run_dir)
    _prepare(recipe, run)
    with hold() as held:  # the server begins there, and again after each death
        _run_at(held.getsockname()[1], recipe, run)


def _run_at(port: int, recipe: OnlineRecipe, run: OnlineRun) -> None:
    run_dir = run.folder
    url = f"http://127.0.0.1:{port}"
    where = {"run_dir": run_dir, "api_localhost": f"{url}/predict"}

    def server() -> Command:
        newest = run.version(run.newest_version())
        config = dataclasses.replace(recipe.serving, model_name_or_path=str(newest), port=port)
        words = python("server/hf_online_server.py", *flags(config))
        return Command(words, run_dir / "logs" / "server.log", server_threads(recipe))

    def pool() -> Command:
        words = python("collection/pool.py", **where, headless=True, **recipe.collection)
        return Command(words, run_dir / "logs" / "pool.log")

    def trainer() -> Command:
        checkpoint = {"pretrain_checkpoint_path": _megatron(run)} if recipe.converts else {}
        words = python("", **where, **checkpoint, **recipe.training)[2:]
        return Command([*recipe.trainer, *words], run_dir / "logs" / "trainer.log")

    programs = [
        Program("server", server, f"{url}/health"),
        Program("pool", pool, is_begun_again_when_refused=True),
        Program("trainer", trainer),
    ]
    try:
        for program in programs:
            program.start()
        _watch(programs, run)
    finally:
        for program in reversed(programs):
            program.end()


def server_threads(recipe: OnlineRecipe) -> dict[str, str]:
    """Half of the cores where the trainer works beside it."""
    if os.environ.get("OMP_NUM_THREADS") or not recipe.collection.get("max_lag", PoolConfig.max_lag):
        return {}
    return {"OMP_NUM_THREADS": threads_each(2)}


@dataclasses.dataclass
class Program:
    """One of the three. `health`: the address of one that others wait for. `is_begun_again_when_refused`: what it gave
    up on after a while may be there again, such as websites that somebody else stopped."""

    name: str
    command: Callable[[], Command]
    health: str = ""
    is_begun_again_when_refused: bool = False
    _process: subprocess.Popen[bytes] | None = None
    _begun_at: float = 0.0
    _next_at: float = 0.0
    _num_young: int = 0

    def start(self) -> None:
        """Begin it; the first start waits until it is there."""
        is_first, command = self._begun_at == 0, self.command()
        console.print(f"  [dim]$ {command.typed}[/dim]\n  [dim]log: {command.log}[/dim]", soft_wrap=True)
        self._process, self._begun_at = begin(command, os.environ), time.monotonic()
        if self.health and is_first:
            wait_until_healthy(self._process.poll, self.health, command.log)

    def look(self) -> bool:
        """Begin it again where it died; whether it has done all it was to do."""
        now = time.monotonic()
        if self._process is None:
            if now >= self._next_at:
                self.start()
            return False
        if (code := self._process.poll()) is None:
            return False
        if code == 0:
            return True
        words = last_words(self.command().log)
        is_young = now - self._begun_at < _YOUNG_S
        if code == REFUSED and (is_young or not self.is_begun_again_when_refused):
            raise UserError(f"the {self.name}: {words}")
        self._num_young = self._num_young + 1 if is_young else 0
        if self._num_young >= _MOST_YOUNG:
            raise UserError(f"the {self.name} ended {_MOST_YOUNG} times soon after its start, at last with: {words}")
        console.print(f"the {self.name} ended with code {code} and is started again: {words}", markup=False)
        end(self._process, timeout_s=0)  # what it began and left
        self._process, self._next_at = None, now + _PAUSE_S * 2**self._num_young
        return False

    def end(self) -> None:
        """With all that it began."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                end(self._process)
            self._process = None


def _prepare(recipe: OnlineRecipe, run: OnlineRun) -> None:
    """Version 0 of the weights, the tasks, and the checkpoint that training begins with, where they are not there."""
    words = python("", run_dir=run.folder, api_localhost=_ANYWHERE, **recipe.collection)[2:]
    pool = parse(PoolConfig, words, program="the recipe's `collection`")  # a slip is told before a minute's work
    for name in _SHARED:
        learned = recipe.training.get(name, getattr(PoolConfig, name) if recipe.converts else None)
        if learned not in (None, getattr(pool, name)):
            raise UserError(
                f"{name}: the recipe's `collection` has {getattr(pool, name)}, its `training` {learned}; "
                "give both the same, or one waits for the other for ever"
            )
    if not run.tasks.exists():
        if not recipe.tasks.is_file():
            raise UserError(f"{recipe.tasks}: no such task file")
        write_atomic(run.tasks, recipe.tasks.read_bytes())
    if not run.versions():
        if not recipe.policy.is_dir():
            raise UserError(f"{recipe.policy}: no such folder of weights for the recipe's `policy` to begin with")
        run.weights.mkdir(parents=True, exist_ok=True)
        run.version(0).symlink_to(recipe.policy.resolve())
    if recipe.converts and not _megatron(run).exists():
        words = ["bash", HF2MG, "--load_path", str(recipe.policy), "--save_path", str(_megatron(run))]
        command = Command(words, run.folder / "logs" / "hf2mg.log")
        console.print(f"  [dim]$ {command.typed}[/dim]", soft_wrap=True)
        if begin(command, os.environ).wait():
            raise UserError(f"{HF2MG}: {last_words(command.log)} (log: {command.log})")


def _megatron(run: OnlineRun) -> Path:
    return run.folder / "megatron"


def _watch(programs: list[Program], run: OnlineRun) -> None:
    told_at = time.monotonic()
    while not any(program.look() for program in programs):
        time.sleep(_LOOK_S)
        if time.monotonic() - told_at > _TELL_S:
            told_at = time.monotonic()
            console.print(f"  {told(run)}", markup=False, soft_wrap=True)


def told(run: OnlineRun) -> str:
    """In one line where the run is, by the pool's own account."""
    path = run.folder / "state" / "pool.json"
    if not path.exists():
        return "the pool has not begun"
    said = read_object(path)
    names = ("version", "running", "complete", "learned", "dropped", "worst_age", "trajectories_per_hour")
    return ", ".join(f"{name.replace('_', ' ')} {said.get(name)}" for name in names)

"""Collect or test: one trajectory per task, with OpenWebVoyager's flags.

    python collection/run.py --test_file data/tasks/test.jsonl --headless --max_iter 15 --max_attached_imgs 3 \\
        --api_localhost http://127.0.0.1:8080/predict --output_dir results --judge oracle
    python collection/run.py --env miniwob --headless --api_localhost http://127.0.0.1:8080/predict --judge oracle
    python collection/run.py --status results

Without --api_localhost it asks OpenAI, or any OpenAI-compatible endpoint at --api_base. Exit code 2 means that
something must be put right; run the same command again and it goes on where it stopped.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from collection.accounting import print_status
from collection.campaign import collect
from collection.environments import miniwob
from collection.environments.webarena import read_webarena
from collection.evaluation.summary import print_summary, summarise
from collection.judge_flags import JudgeFlags, JudgeName
from collection.key_flags import hide_keys
from collection.options import CollectionConfig
from collection.overview import print_overview
from collection.webarena.reset import reset_sites
from data.cli import run
from data.task import Task, move_sites, read_tasks


@dataclass(frozen=True)
class Config(JudgeFlags, CollectionConfig):
    """Flags of `run.py`."""

    judge: JudgeName = "none"
    """Judge each trajectory as soon as it is taken; the names are those of `exploration_feedback.py --judge`."""
    env: Literal["", "miniwob", "webarena"] = ""
    """`miniwob`: tasks and websites of MiniWoB++ instead of --test_file. `webarena`: that file is one of WebArena's."""
    env_tasks: tuple[str, ...] = ()
    """Only these tasks of the environment, such as click-test. None: all."""
    env_seeds: tuple[int, ...] = (0,)
    """Each task once with each of these seeds."""
    status: Path | None = None
    """Only tell what became of each task in this output folder, also while collectors work there."""


def main(config: Config) -> None:
    """Collect, then print what came of it."""
    if config.status is not None:
        return print_status(config.status)
    if config.env == "miniwob":
        return _main_miniwob(config)
    config.check()
    read = read_webarena if config.env == "webarena" else read_tasks
    tasks = move_sites(read(config.test_file), config.sites_port)
    if config.dry_run:
        return print_overview(tasks)
    _collect(config, tasks)


def _main_miniwob(config: Config) -> None:
    config.check(needs_test_file=False)
    with miniwob.served() as port:
        kept = config.output_dir / "miniwob.jsonl"
        _collect(config, miniwob.tasks_for(config.env_tasks, config.env_seeds, port, config.fleet(4), kept))


def _collect(config: Config, tasks: Sequence[Task]) -> None:
    judge, ledger = config.make_judge(config.output_dir, tasks, config.api_key)
    reset_sites(config.reset_command)
    asyncio.run(collect(config, tasks, [None], judge))
    print_summary(summarise(config.output_dir, tasks), cost=ledger and ledger.report())


if __name__ == "__main__":
    hide_keys()
    run(Config, main, description="Collect one trajectory per task.")

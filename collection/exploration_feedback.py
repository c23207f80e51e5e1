"""Explore with feedback: try each task until the judge says success, five times at most.

    python collection/exploration_feedback.py --test_file data/tasks/optim-1.jsonl --headless --max_iter 15 \\
        --max_attached_imgs 3 --max_rerun_times 5 --temperature 1.2 --api_localhost http://127.0.0.1:8080/predict

The tries of a task run one after another into task<ID>--run<k>; different tasks run at the same time. On a restart
solved tasks are known and left alone.
"""

import asyncio
from dataclasses import dataclass
from typing import Literal

from collection.campaign import collect
from collection.evaluation.summary import print_summary, summarise
from collection.judging import get_judge
from collection.options import CollectionConfig
from data.cli import run
from data.errors import UserError
from data.task import move_sites, read_tasks

MOST_TRIES = 5


@dataclass(frozen=True)
class Config(CollectionConfig):
    """Flags of `exploration_feedback.py`."""

    max_rerun_times: int = 1
    """Tries of a task, at most 5; the first success ends them."""
    judge: Literal["oracle"] = "oracle"
    """Who decides whether a try succeeded: `oracle` compares with the task's ground truth."""


def main(config: Config) -> None:
    """Explore, then print what came of it."""
    config.check()
    if not 1 <= config.max_rerun_times <= MOST_TRIES:
        raise UserError(f"--max_rerun_times must be 1 to {MOST_TRIES}, not {config.max_rerun_times}")
    tasks = move_sites(read_tasks(config.test_file), config.sites_port)
    asyncio.run(collect(config, tasks, range(config.max_rerun_times), get_judge(config.judge, tasks)))
    print_summary(summarise(config.output_dir, tasks))


if __name__ == "__main__":
    run(Config, main, description="Try each task until it succeeds.")

"""Collect or test: one trajectory per task, with OpenWebVoyager's flags.

    python collection/run.py --test_file data/tasks/test.jsonl --headless --max_iter 15 --max_attached_imgs 3 \\
        --api_localhost http://127.0.0.1:8080/predict --output_dir results --judge oracle
    python collection/run.py --api_localhost http://localhost:8080/predict    embedded tasks and sites
    python collection/run.py --env miniwob --headless --api_localhost http://127.0.0.1:8080/predict --judge oracle
    python collection/run.py --status results

Without --api_localhost it asks OpenAI, or any OpenAI-compatible endpoint at --api_base. Exit code 2 means that
something must be put right; run the same command again and it goes on where it stopped.
"""

import asyncio
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

try:
    from collection.campaign.accounting import print_status
    from collection.campaign.campaign import collect
    from collection.campaign.embedded_tasks import say, settled, without_display
    from collection.campaign.options import judge_key, make_fleet
    from collection.campaign.overview import print_overview
    from collection.config.commands import RunConfig
    from collection.evaluation.summary import print_summary, summarise
    from collection.judges.named import make_judge
    from common.cli import run
    from common.defaults import TEST_TASKS
    from common.errors import UserError
    from common.key_flags import hide_keys
    from data.task import Task, read_tasks
    from environments.miniwob import world as miniwob
    from environments.webarena.reset import reset_sites
    from environments.webarena.tasks import read_webarena
except ModuleNotFoundError as missing:  # not the python of the virtual environment
    root = Path(__file__).resolve().parent.parent
    print(f"error: {missing}; run: bash {root}/install.sh && source {root}/.venv/bin/activate", file=sys.stderr)
    sys.exit(2)


def main(config: RunConfig) -> None:
    """Collect, then print what came of it."""
    if config.status is not None:
        return print_status(config.status)
    if config.env == "miniwob":
        return _main_miniwob(config)
    if config.env == "webarena" and config.test_file is None:
        raise UserError("--test_file is missing: WebArena's own file of tasks")
    if config.test_file is None and config.judge == "none":
        config = dataclasses.replace(config, judge="oracle")
    read = read_webarena if config.env == "webarena" else read_tasks
    with settled(config, TEST_TASKS, read) as (config, tasks):
        if config.dry_run:
            return print_overview(tasks)
        _collect(config, tasks)


def _main_miniwob(config: RunConfig) -> None:
    config, notes = without_display(config)
    say(notes)
    with miniwob.served() as port:
        config, kept = dataclasses.replace(config, sites_port=port), config.output_dir / "miniwob.jsonl"
        _collect(config, miniwob.tasks_for(config.env_tasks, config.env_seeds, port, make_fleet(config, 4), kept))


def _collect(config: RunConfig, tasks: Sequence[Task]) -> None:
    judge, ledger = make_judge(config, config.output_dir, tasks, judge_key(config), config.api_localhost)
    reset_sites(config.reset_command)
    asyncio.run(collect(config, tasks, [None], judge))
    print_summary(summarise(config.output_dir, tasks), cost=ledger and ledger.report())


if __name__ == "__main__":
    hide_keys()
    run(RunConfig, main, description="Collect one trajectory per task.")

"""Collect or test: one trajectory per task, with OpenWebVoyager's flags.

    python collection/run.py --test_file data/tasks/test.jsonl --headless --max_iter 15 --max_attached_imgs 3 \\
        --api_localhost http://127.0.0.1:8080/predict --output_dir results --judge oracle
    python collection/run.py --api_localhost http://localhost:8080/predict    embedded tasks and sites
    python collection/run.py --env miniwob --headless --api_localhost http://127.0.0.1:8080/predict --judge oracle
    python collection/run.py --status results

Without --api_localhost it asks OpenAI, or any OpenAI-compatible endpoint at --api_base. Exit code 2 means that
something must be put right, 1 that faults ended every trajectory; run the same command again and it goes on where it
stopped.
"""

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from runpy import run_path

try:
    from collection.campaign.accounting import print_status
    from collection.campaign.campaign import collect
    from collection.campaign.opening import opened, run_until_stopped
    from collection.campaign.options import judge_key
    from collection.campaign.overview import print_overview
    from collection.config.commands import RunConfig
    from collection.evaluation.report import make_report, print_report
    from collection.evaluation.summary import exit_code, print_summary, summarise
    from collection.judges.named import make_judge
    from common.cli import run
    from common.defaults import TEST_TASKS
    from common.files import write_json
    from common.options.key_flags import hide_keys
    from data.task import Task
    from environments.world import World
except ModuleNotFoundError as missing:  # not the python of the virtual environment
    sys.exit(run_path(str(Path(__file__).resolve().parents[1] / "common" / "not_installed.py"))["say"](missing))


def main(config: RunConfig) -> int | None:
    """Collect, then print what came of it."""
    if config.status is not None:
        return print_status(config.status)
    with opened(config, TEST_TASKS) as (config, world, tasks):
        if config.dry_run:
            print_overview(tasks)
            return world.check(tasks)
        if config.judge == "none":
            config = dataclasses.replace(config, judge=world.judge)
        return _collect(config, world, tasks)


def _collect(config: RunConfig, world: World, tasks: Sequence[Task]) -> int:
    judge, ledger = make_judge(
        config, config.output_dir, tasks, judge_key(config, config.eval_api_base), config.api_localhost
    )
    run_until_stopped(collect(config, world, tasks, [None], judge))
    summary = summarise(config.output_dir, tasks)
    if config.report is None or summary["num_invalid"] == summary["num_tasks"]:
        print_summary(summary, cost=ledger and ledger.report())
    else:
        report = make_report(config.output_dir, tasks)
        write_json(config.report, report)
        print_report(report)
    return exit_code(summary, config.output_dir)


if __name__ == "__main__":
    hide_keys()
    run(RunConfig, main, description="Collect one trajectory per task.")

"""Explore with feedback: try each task until the judge says success, `--max_rerun_times` times at most.

With `--all_tries` every task is tried as often as that, whatever the judge says.

    python collection/exploration_feedback.py --test_file data/tasks/optim-1.jsonl --headless --max_iter 15 \\
        --max_attached_imgs 3 --max_rerun_times 5 --temperature 1.2 --api_localhost http://127.0.0.1:8080/predict
    python collection/exploration_feedback.py --api_localhost http://localhost:8080/predict     embedded tasks and sites

A model judges when it is named, `--api_eval_model gpt-4o`, else the embedded sites' ground truth. The tries of a task
run one after another into task<ID>--run<k>; different tasks run at the same time. On a restart solved tasks are known
and left alone; what the judge could not say is judged again before it is tried again. At the end comes the table of
S@1 ... S@k (tasks solved within k tries) and F@1 (first tries that ended with an answer), also as `exploration.json`.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from runpy import run_path

try:
    from collection.campaign.campaign import collect
    from collection.campaign.opening import opened, run_until_stopped
    from collection.campaign.options import judge_key
    from collection.campaign.overview import print_overview
    from collection.config.commands import ExplorationConfig
    from collection.evaluation.summary import exit_code, explored, print_explored, print_summary, summarise
    from collection.judges.named import make_judge
    from common.cli import run
    from common.defaults import EXPLORATION_TASKS
    from common.errors import UserError
    from common.files import write_json
    from common.options.key_flags import hide_keys
    from data.task import Task
    from environments.world import World
except ModuleNotFoundError as missing:  # not the python of the virtual environment
    sys.exit(run_path(str(Path(__file__).resolve().parents[1] / "common" / "not_installed.py"))["say"](missing))


def main(config: ExplorationConfig) -> int | None:
    """Explore, then print what came of it."""
    with opened(config, EXPLORATION_TASKS) as (config, world, tasks):
        if config.dry_run:
            print_overview(tasks)
            return world.check(tasks)
        return _explore(config, world, tasks)


def _explore(config: ExplorationConfig, world: World, tasks: Sequence[Task]) -> int:
    judge, ledger = make_judge(
        config, config.output_dir, tasks, judge_key(config, config.eval_api_base), config.api_localhost
    )
    if judge is None:
        raise UserError("exploration needs a judge: without one nobody knows when a task is solved")
    run_until_stopped(collect(config, world, tasks, range(config.max_rerun_times), judge, config.all_tries))
    summary = summarise(config.output_dir, tasks)
    print_summary(summary, cost=ledger and ledger.report())
    table = explored(config.output_dir, tasks, config.max_rerun_times)
    write_json(config.output_dir / "exploration.json", table)
    print_explored(table)
    return exit_code(summary, config.output_dir)


if __name__ == "__main__":
    hide_keys()
    run(ExplorationConfig, main, description="Try each task until it succeeds.")

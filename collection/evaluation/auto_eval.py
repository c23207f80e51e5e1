"""Judge a folder of trajectories and count: tables by site and by domain, and summary.json in the folder.

    python collection/evaluation/auto_eval.py --process_dir results --test_file data/tasks/test.jsonl --judge oracle
    python collection/evaluation/auto_eval.py --process_dir results --test_file tasks.jsonl --api_model gpt-4o \\
        --max_attached_imgs 15

Trajectories that are judged already keep their verdict. With --test_file tasks without a trajectory count as not
solved; without it, as in the published command, only what is there can be counted.
"""

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.console import Console
from rich.progress import track

from collection.config.judging import JudgeFlags
from collection.evaluation.summary import print_summary, summarise
from collection.judges import Judge
from collection.judges.judging import cases, judge_once
from collection.judges.named import make_judge
from common.cli import run
from common.errors import UserError
from common.files import write_json
from common.full_disk import why_full
from common.options.key_flags import hide_keys
from common.options.limits import at_least
from data.task import Task, read_tasks, task_from_json
from data.trajectory import is_complete, list_trajectories, read_end, read_trajectory

PUBLISHED_MODEL = "gpt-4o"


@dataclass(frozen=True)
class Config(JudgeFlags):
    """Flags of `auto_eval.py`."""

    process_dir: Path = Path("results")
    """Folder of trajectories."""
    test_file: Path | None = None
    """The tasks they belong to."""
    api_model: str = ""
    """The published name of --api_eval_model."""
    api_key: str = ""
    """Key of the judging endpoint. Better set EVAL_API_KEY, or OPENAI_API_KEY for OpenAI's own."""
    max_attached_imgs: int | None = None
    """The published name of --eval_imgs; 15 shows all of a trajectory of at most 15 steps."""
    lesson_dir: str = ""
    """Accepted because the published command has it; not used there either."""
    num_judges: Annotated[int, at_least(1)] = 8
    """Trajectories judged at the same time."""


def main(config: Config) -> None:
    """Judge what is not judged yet, print the tables, write the summary."""
    tasks = read_tasks(config.test_file) if config.test_file else tasks_in(config.process_dir)
    list_trajectories(config.process_dir)
    flags = resolve(config, tasks)
    judge, ledger = make_judge(flags, config.process_dir, tasks, config.api_key)
    if judge is not None:
        judge_all(config.process_dir, tasks, judge, config.num_judges)
    cost = ledger.report() if ledger else None
    summary = {**summarise(config.process_dir, tasks), "judge_cost": cost}
    write_json(config.process_dir / "summary.json", summary)
    print_summary(summary, cost)


def resolve(config: Config, tasks: Sequence[Task]) -> JudgeFlags:
    """The flags with their published names put in place: unless told otherwise, ground truth judges where every task
    has one, else the published model."""
    model = config.api_eval_model or config.api_model
    if config.judge == "auto" and not model and not all(task.eval for task in tasks):
        model = PUBLISHED_MODEL
    shown = config.eval_imgs if config.max_attached_imgs is None else config.max_attached_imgs
    return dataclasses.replace(config, api_eval_model=model, eval_imgs=shown)


def tasks_in(results_dir: Path) -> list[Task]:
    """The tasks that the trajectories themselves name."""
    tasks: dict[str, Task] = {}
    for folder in list_trajectories(results_dir):
        if not is_complete(folder):
            continue
        if end := read_end(folder):
            task = task_from_json(end["task"], f"{folder}: trajectory.json")
        else:  # one of OpenWebVoyager's: its id begins with the site's name
            trajectory = read_trajectory(folder)
            site = trajectory.task_id.removeprefix("WebVoyager-").partition("--")[0].partition("-human")[0]
            task = Task(trajectory.task_id, trajectory.ques, trajectory.web, web_name=site)
        tasks[task.id] = task
    if not tasks:
        raise UserError(f"{results_dir}: holds no complete trajectory; to count missing tasks give --test_file")
    return list(tasks.values())


def judge_all(results_dir: Path, tasks: Sequence[Task], judge: Judge, num_judges: int = 1) -> None:
    """Give every complete trajectory of `tasks` a verdict, `num_judges` at a time.

    Raises:
        UserError: the judge cannot work at all; the verdicts given so far are kept.
    """
    with ThreadPoolExecutor(num_judges) as pool:
        verdicts = [pool.submit(judge_once, judge, task, folder) for task, folder in cases(results_dir, tasks)]
        try:
            for verdict in track(verdicts, "judging", console=Console(stderr=True), transient=True):
                verdict.result()
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            if why := why_full(error):
                raise UserError(
                    f"{results_dir}: {why}; the verdicts so far are kept. Make room, and the same command goes on"
                ) from error
            raise


if __name__ == "__main__":
    hide_keys("EVAL_API_KEY")
    run(Config, main, description="Judge trajectories and count them.")

"""Judge a folder of trajectories and count: prints a table by site and writes summary.json into the folder.

    python collection/evaluation/auto_eval.py --process_dir results --test_file data/tasks/test.jsonl --judge oracle

Trajectories that are judged already keep their verdict.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from collection.evaluation.summary import print_summary, summarise
from collection.judging import Judge, get_judge, judge_once
from data.cli import run
from data.files import write_json
from data.task import Task, read_tasks
from data.trajectory import is_complete, list_trajectories, split_folder_name


@dataclass(frozen=True)
class Config:
    """Flags of `auto_eval.py`."""

    process_dir: Path
    """Folder of trajectories."""
    test_file: Path
    """The tasks they belong to."""
    judge: Literal["oracle"] = "oracle"
    """Who judges: `oracle` compares with the task's ground truth."""


def main(config: Config) -> None:
    """Judge what is not judged yet, print the table, write the summary."""
    tasks = read_tasks(config.test_file)
    judge_all(config.process_dir, tasks, get_judge(config.judge, tasks))
    summary = summarise(config.process_dir, tasks)
    write_json(config.process_dir / "summary.json", summary)
    print_summary(summary)


def judge_all(results_dir: Path, tasks: list[Task], judge: Judge) -> None:
    """Give every complete trajectory of `tasks` a verdict."""
    by_id = {task.id: task for task in tasks}
    for folder in list_trajectories(results_dir):
        task = by_id.get(split_folder_name(folder.name)[0])
        if task is not None and is_complete(folder):
            judge_once(judge, task, folder)


if __name__ == "__main__":
    run(Config, main, description="Judge trajectories and count them.")

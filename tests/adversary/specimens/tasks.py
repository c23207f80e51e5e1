"""Task files, WebArena's and ours, and logins."""

import json
from pathlib import Path

from collection.evaluation.auto_eval import judge_all
from collection.judges.webarena import WebArenaJudge
from data.task import read_tasks
from environments.browser.storage_state import read_storage_state
from environments.webarena.final_pages import check_programs
from environments.webarena.tasks import read_configurations, to_tasks
from tests.adversary.specimens.specimen import Specimen, only
from tests.toolkits.trajectories import write_trajectory
from toolkits import (
    shift_dates,
)

TASK = {"id": "Shop--1", "ques": "Find a shoe.", "web": "http://shop.example/", "web_name": "Shop", "unknown": [1]}


WEBARENA = [
    {
        "task_id": number,
        "intent": "Tell me the price.",
        "start_url": "__SHOPPING__/x",
        "sites": ["shopping"],
        "storage_state": "./.auth/shopping.json",
        "eval": {
            "eval_types": ["string_match", "url_match", "program_html"],
            "reference_answers": {"must_include": ["9.99"], "exact_match": "yes"},
            "reference_url": "__SHOPPING__/x?a=b",
            "program_html": [{"url": "last", "locator": "", "required_contents": {"must_include": ["9.99 |OR| 10"]}}],
        },
    }
    for number in range(3)
]


STATE = {"cookies": [{"name": "a", "value": "b", "domain": "x.example", "path": "/"}], "origins": []}


def write_tasks(folder: Path) -> None:
    lines = [json.dumps({**TASK, "id": f"Shop--{number}"}) for number in range(5)]
    (folder / "tasks.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "list.json").write_text(json.dumps([json.loads(line) for line in lines], indent=1), encoding="utf-16")


def read_each_task_file(folder: Path, out: Path) -> None:
    for path in sorted(folder.iterdir()):
        read_tasks(path)
        shift_dates.main(shift_dates.Config(path, out / path.name, today="2026-11-01"))


def read_webarena(folder: Path, out: Path) -> None:
    addresses = {"SHOPPING": "http://shop.example"}
    tasks = to_tasks(read_configurations(folder / "webarena.json", addresses))
    check_programs(tasks)
    results = out / "results"
    for task in tasks:
        path = write_trajectory(results, task.id, verdict=None)
        (path / "final_pages.json").write_text('["It costs 9.99"]')
    judge_all(results, tasks, WebArenaJudge())


TASKS: dict[str, Specimen] = {
    "tasks": Specimen(write_tasks, "*", (read_each_task_file,)),
    "WebArena's tasks": Specimen(only("webarena.json", WEBARENA), "*", (read_webarena,)),
    "logins": Specimen(only("state.json", STATE), "*", (lambda folder, _: read_storage_state(folder / "state.json"),)),
}

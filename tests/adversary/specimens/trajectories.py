"""Trajectories, ours and released ones, and notes of runs beside them."""

import json
import shutil
from pathlib import Path
from typing import Any

from collection.campaign.accounting import check_action_space, note_tasks, print_status
from collection.evaluation import summary
from collection.evaluation.auto_eval import judge_all, tasks_in
from collection.judges.endpoint.ledger import Budget, Ledger
from data.action_spaces import NUMBERS
from data.correction import Corrections, read_corrections, write_corrections
from data.outcome import Outcome, Verdict
from data.task import read_tasks
from data.trajectory import list_trajectories, read_trajectory
from elcano.report import read_results
from tests.adversary.specimens.specimen import Specimen
from tests.adversary.specimens.tasks import TASK
from tests.field_files import write_field_files
from tests.toolkits.trajectories import write_trajectory
from toolkits import (
    convert_action_space,
    convert_trajectories_to_json,
    make_traces,
)
from toolkits.trajectories.rollouts import read_rollouts
from viewer.answers import Answers
from viewer.catalog.index import Index
from viewer.export import export_runs


def write_ours(folder: Path) -> None:
    for number in range(2):
        written = write_trajectory(folder / "results", f"Shop--{number}", run=1)
        write_corrections(written, Corrections("teacher", ["Thought: a\n\nAction: Wait"] * 4))


def write_released(folder: Path) -> None:
    shutil.copytree(write_field_files(folder / "field") / "trajectories", folder / "results")
    shutil.rmtree(folder / "field")


def read_trajectories(folder: Path, out: Path) -> None:
    for path in list_trajectories(folder / "results"):
        read_corrections(path, len(read_trajectory(path).steps))


def convert_trajectories(folder: Path, out: Path) -> None:
    paths = {"result_dir": str(folder / "results"), "image_dir": str(out / "images")}
    kinds = convert_trajectories_to_json.Config
    convert_trajectories_to_json.main(kinds(**paths, save_json_file=str(out / "samples.json"), num_workers=1))


def convert_actions(folder: Path, out: Path) -> None:
    config = convert_action_space.Config(folder / "results", out / "converted", "webgym")
    convert_action_space.main(config)


def trace(folder: Path, out: Path) -> None:
    make_traces.main(make_traces.Config(folder / "results", out / "traces"))


def roll_out(folder: Path, out: Path) -> None:
    read_rollouts(folder / "results", out, 1, 1)


def account(folder: Path, out: Path) -> None:
    check_action_space(folder / "results", NUMBERS)
    print_status(folder / "results")


def judge(folder: Path, out: Path) -> None:
    """Whatever is wrong with one trajectory is its verdict; copies, since verdicts are kept."""
    results = out / "judged"
    shutil.copytree(folder / "results", results)
    for path in [*results.glob("*/outcome.json"), *results.glob("*/eval_res.json")]:
        path.unlink()
    judge_all(results, tasks_in(results), lambda task, path: Outcome(Verdict(read_trajectory(path) and "success")))


def summarize(folder: Path, out: Path) -> None:
    summary.read_attempts(folder / "results")


_ASKED = ("state", "live", "run", "curves", "rows", "thoughts")


def view(folder: Path, out: Path) -> None:
    """A page of the viewer shows what can be read, and says what cannot: it refuses nothing."""
    index = Index((folder,), out / "index.sqlite")
    index.refresh()
    answers = Answers(index)
    state = json.loads(answers.answer("state", {}))
    for run in state["runs"]:
        for name in _ASKED:
            answers.answer(name, {"run": run["key"]})
        for key in run["sets"]:
            for path in list_trajectories(folder / "results"):
                given = {"set": key, "name": path.name, "number": "1"}
                for name in ("trajectory", "prompt"):
                    answers.answer(name, given)
                answers.screenshot(given)
                answers.thumbnail(given)


def export(folder: Path, out: Path) -> None:
    index = Index((folder,), out / "index.sqlite")
    index.refresh()
    export_runs(Answers(index), out / "pages", with_films=False)


OF_TRAJECTORIES = (
    read_trajectories,
    convert_trajectories,
    convert_actions,
    trace,
    roll_out,
    account,
    summarize,
    judge,
    view,
    export,
)


def write_notes(folder: Path) -> None:
    write_ours(folder)
    tasks = read_tasks_of(folder)
    note_tasks(folder / "results", tasks)
    ledger = {"fate": "answered", "usd": 0.1, "prompt_tokens": 3, "completion_tokens": 4}
    (folder / "ledger.jsonl").write_text(f"{json.dumps(ledger)}\n" * 3)
    (folder / "recipe.json").write_text(json.dumps({"rounds": [{"name": "one"}]}))


def read_tasks_of(folder: Path) -> Any:
    path = folder / "tasks.jsonl"
    path.write_text(json.dumps(TASK))
    found = read_tasks(path)
    path.unlink()
    return found


def read_notes(folder: Path, out: Path) -> None:
    print_status(folder / "results")
    note_tasks(folder / "results", [])
    Ledger(folder / "ledger.jsonl", Budget()).report()
    read_results(folder)


TRAJECTORIES: dict[str, Specimen] = {
    "our trajectories": Specimen(write_ours, "results/*/*", OF_TRAJECTORIES),
    "released trajectories": Specimen(write_released, "results/*/*", OF_TRAJECTORIES),
    "notes of a run": Specimen(write_notes, "**/*.json*", (read_notes, view)),
}

"""The report of a run: what summary.json promises, and a picture."""

import dataclasses
import json
from pathlib import Path

import pytest

from common.errors import UserError
from common.significance import wilson
from elcano.cli import Show, _show
from elcano.pictures import failed, learned
from elcano.report import read_results, write_report

FIELDS = {"num_invalid": 0, "mean_steps": 4.5}


def leave(run_dir: Path, name: str, solved: set[int], num_tasks: int = 40) -> None:
    """What `auto_eval.py` leaves in a round's folder."""
    outcomes = {f"T--{number}": number in solved for number in range(num_tasks)}
    counts = {"success_rate": len(solved) / num_tasks, "num_tasks": num_tasks, "num_success": len(solved)}
    folder = run_dir / name / "test"
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text(json.dumps({**FIELDS, **counts, "outcomes": outcomes, "sites": {}}))
    names = [
        *(json.loads((run_dir / "summary.json").read_text())["rounds"] if name != "untrained" else []),
        {"name": name},
    ]
    if not name.endswith("-control"):
        (run_dir / "summary.json").write_text(json.dumps({"rounds": names}))


@pytest.fixture
def run(tmp_path) -> Path:
    """Untrained solves 2 of 40, IL 20, the last round 30, which without exploration would have been 22."""
    leave(tmp_path, "untrained", {0, 1})
    leave(tmp_path, "IL", set(range(20)))
    leave(tmp_path, "optim-1", set(range(2, 32)))
    leave(tmp_path, "optim-1-control", set(range(22)))
    return tmp_path


def test_summary_and_picture(run):
    write_report(run, read_results(run), {"IL/test": 60.0, "IL/train": 30.5}, 0.2)
    summary = json.loads((run / "summary.json").read_text())
    last = summary["rounds"][2]
    assert [entry["name"] for entry in summary["rounds"]] == ["untrained", "IL", "optim-1"]
    assert last["success_rate"] == 0.75 and last["interval"] == list(wilson(0.75, 40))
    assert (last["change"]["won"], last["change"]["lost"]) == (12, 2)
    assert last["change"]["p_value"] == pytest.approx(0.0129, abs=1e-4)
    assert last["beside"]["control"]["success_rate"] == 0.55 and "outcomes" not in last
    assert "change" not in summary["rounds"][0]
    assert summary["seconds_per_stage"]["IL/train"] == 30.5
    assert summary["total_seconds"] == 90.5
    assert (run / "success.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("file", "said"), [("summary.json", "a run's summary"), ("IL/test/summary.json", "of a test")])
@pytest.mark.parametrize("content", ["[]", "{}", '{"rounds": [1]}'])
def test_a_summary_of_something_else_is_one_line(run, file, said, content):
    (run / file).write_text(content)
    with pytest.raises(UserError, match=f"{file}: not .*{said}"):
        read_results(run)


def test_the_task_of_the_pictures_was_failed_first_and_solved_last(run):
    results = read_results(run)
    assert failed(run, results[0]) is None  # nobody tried
    for number in (2, 5, 31):
        folder = run / "untrained" / "test" / f"taskT--{number}"
        folder.mkdir()
        (folder / "trajectory.json").write_text("{}")
    assert failed(run, results[0]) == "T--2"
    assert learned(run, [results[0], results[1]]) == "T--2"
    assert (
        learned(run, [results[0], dataclasses.replace(results[2], outcomes={"T--2": False, "T--31": True})]) == "T--31"
    )


def test_the_table_of_one_run_and_of_several(run, tmp_path, capsys):
    other = tmp_path / "other"
    for name, solved in {"untrained": {0}, "IL": set(range(10)), "optim-1": set(range(20))}.items():
        leave(other, name, solved)
    for folder in (run, other):
        (folder / "stages").mkdir()
        (folder / "recipe.json").write_text("{}")
    _show(Show((run,)))
    shown = capsys.readouterr().out
    assert "60-86" in shown and "12:2, p 0.013" in shown and "55.0%" in shown
    assert "optim-1 against the same training without exploration (55.0%): +20.0" in shown
    _show(Show((run, other)))
    shown = capsys.readouterr().out
    assert "62.5% (75, 50)" in shown and "50/80" in shown
    low, high = wilson(0.625, 40)  # the same tasks twice are no more tasks
    assert f"{100 * low:.0f}-{100 * high:.0f}" in shown

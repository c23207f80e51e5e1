"""OpenWebVoyager's published task files: all load, go through the dry run, and are reported per site and per domain."""

import subprocess
import sys

import pytest

from collection.campaign.overview import overview, print_overview
from collection.evaluation.summary import print_summary, summarise
from data.outcome import Outcome, Verdict
from data.task import read_tasks
from data.trajectory import write_outcome
from tests.collection.judges.test_judges import record
from tests.conftest import ROOT


def test_every_file_through_the_dry_run(field_files, capsys):
    files = sorted((field_files / "tasks").rglob("*.jsonl"))
    assert len(files) == 15
    num_sites = {}
    for file in files:
        tasks = read_tasks(file)
        found = overview(tasks)
        assert sum(found["site"].values()) == len(tasks)
        print_overview(tasks)
        num_sites[file.stem] = len(found["site"])
        if file.stem.startswith("mind2web"):
            assert sum(found["domain"].values()) == len(tasks)
            assert set(found["domain"]) <= {"Entertainment", "Shopping", "Travel"}
    assert num_sites["WebVoyager_test"] == num_sites["webvoyager_for_iter1_150q"] == 15
    assert (num_sites["mind2web_test_cross_task"], num_sites["mind2web_test_cross_web"]) == (33, 6)
    printed = capsys.readouterr().out
    assert "Allrecipes" in printed and "Entertainment" in printed and "names a date" in printed


def test_the_collector_as_a_command(field_files, tmp_path):
    file = field_files / "tasks" / "data_for_test" / "mind2web_test_cross_web.jsonl"
    command = [sys.executable, "collection/run.py", "--test_file", file, "--dry_run", "--output_dir", tmp_path / "out"]
    done = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "stubhub" in done.stdout and "106" in done.stdout
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["WebVoyager_test", "mind2web_test_cross_task"])
def test_results_are_counted_per_site_and_domain_with_missing_ones(field_files, tmp_path, name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # names are cut where there is no room
    tasks = read_tasks(field_files / "tasks" / "data_for_test" / f"{name}.jsonl")
    for number, task in enumerate(tasks[::20]):
        verdict = Verdict.SUCCESS if number % 2 else Verdict.FAILURE
        write_outcome(record(tmp_path, task, "x"), Outcome(verdict, judge="webvoyager"))
    summary = summarise(tmp_path, tasks)
    judged = len(tasks[::20])
    assert summary["num_missing"] == len(tasks) - judged and summary["num_success"] == judged // 2
    assert summary["success_rate"] == (judged // 2) / len(tasks)  # what is missing is not solved
    groups = summary["domains" if "mind2web" in name else "sites"]
    assert sum(group["num_tasks"] for group in groups.values()) == len(tasks)
    assert sum(group["num_missing"] for group in groups.values()) == summary["num_missing"]
    print_summary(summary)
    printed = capsys.readouterr().out
    assert all(group in printed for group in groups)

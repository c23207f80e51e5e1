"""Dates: which are found, and that moving them keeps wording, season and intervals."""

import datetime
import subprocess
import sys

import pytest

from data.dates import find_dates, shift_dates
from data.task import Task, read_tasks, write_tasks
from tests.conftest import ROOT

TODAY = datetime.date(2026, 11, 21)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Book December 25th, 2023 to December 30, 2023.", "Book December 25th, 2026 to December 30, 2026."),
        ("from 3 to 7 Jan 2024", "from 3 to 7 Jan 2027"),
        ("17 September 2024", "17 September 2027"),
        ("on 2024-05-01 or 1/15/2024", "on 2027-05-01 or 1/15/2027"),
        ("20 December 2024 until January 3, 2025", "20 December 2026 until January 3, 2027"),
        ("between 20 Dec and 3 January 2025", "between 20 Dec and 3 January 2027"),
        ("in November 2026", "in November 2026"),
        ("in October 2026", "in October 2027"),
        ("February 29, 2024", "February 29, 2028"),
        ("the 2018 World Cup, founded May 2018", "the 2018 World Cup, founded May 2018"),
        ("the game of May 4, 2019, watched on May 4, 2024", "the game of May 4, 2019, watched on May 4, 2024"),
        ("on May 10", "on May 10"),
        ("Room 2024", "Room 2024"),
    ],
)
def test_dates_are_moved_by_whole_years(old, new):
    assert shift_dates(old, TODAY, since=2023) == new


def test_dates_without_a_year_are_found_too():
    assert find_dates("on 23 November") and find_dates("May 10th") and find_dates("in June 2024")
    assert not find_dates("you may find 10 of 2024 models")


def test_the_command_writes_all_tasks_and_prints_the_changes(tmp_path):
    write_tasks(tmp_path / "old.jsonl", [Task("a--0", "on May 4, 2024", "http://x/"), Task("a--1", "q", "http://x/")])
    command = [sys.executable, "toolkits/shift_dates.py", "--test_file", tmp_path / "old.jsonl"]
    command += ["--output_file", tmp_path / "new.jsonl", "--today", "2026-11-21"]
    done = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [task.ques for task in read_tasks(tmp_path / "new.jsonl")] == ["on May 4, 2027", "q"]
    assert "+ on May 4, 2027" in done.stdout and "2 tasks, 1 with a date, 1 brought up to date" in done.stdout


def test_the_fields_tasks_are_brought_up_to_date(field_files):
    tasks = read_tasks(field_files / "tasks" / "data_for_test" / "WebVoyager_test.jsonl")
    shifted = [shift_dates(task.ques, TODAY, since=2023) for task in tasks]
    assert sum(task.ques != ques for task, ques in zip(tasks, shifted, strict=True)) > 60
    assert [shift_dates(ques, TODAY, since=2023) for ques in shifted] == shifted

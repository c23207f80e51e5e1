"""Bring the dates in a task file up to date: nobody can book a flight for December 2023 any more.

    python toolkits/shift_dates.py --test_file WebVoyager_test.jsonl --output_file WebVoyager_test.now.jsonl

Years are moved, in all dates of a task by the same whole number of years, until every date lies ahead; wording, season
and intervals stay. Prints every change, for a person to look over: events of a certain year (a match, a concert)
can't be moved by anybody.
"""

import dataclasses
import datetime
from pathlib import Path

from common import cli
from common.errors import UserError
from data.dates import find_dates, shift_dates
from data.task import read_tasks, write_tasks


@dataclasses.dataclass(frozen=True)
class Config:
    """Bring the dates in a task file up to date."""

    test_file: Path
    """The task file to read."""
    output_file: Path
    """The task file to write; the same tasks, in the same order."""
    today: str = ""
    """The day that dates must lie after, such as 2026-11-21; empty is today."""
    since: int = 2023
    """Dates before this year are history and stay."""


def main(config: Config) -> None:
    """Shift, print the changes, write."""
    try:
        today = datetime.date.fromisoformat(config.today) if config.today else datetime.date.today()
    except ValueError:
        raise UserError(f"--today {config.today!r} is not a date such as 2026-11-21") from None
    tasks = read_tasks(config.test_file)
    shifted = [dataclasses.replace(task, ques=shift_dates(task.ques, today, config.since)) for task in tasks]
    num_dated = sum(bool(find_dates(task.ques)) for task in tasks)
    changed = [(old, new) for old, new in zip(tasks, shifted, strict=True) if old.ques != new.ques]
    for old, new in changed:
        print(f"{old.id}\n  - {old.ques}\n  + {new.ques}")
    write_tasks(config.output_file, shifted)
    print(f"{len(tasks)} tasks, {num_dated} with a date, {len(changed)} brought up to date: {config.output_file}")


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)

"""What a task file holds, without browsing: tasks per site and domain, and what is odd about them (`--dry_run`)."""

import re
from collections import Counter
from collections.abc import Sequence
from urllib.parse import urlsplit

from rich import box
from rich.table import Table

from common.terminal import print_table
from data.dates import find_dates
from data.task import Task


def overview(tasks: Sequence[Task]) -> dict[str, Counter[str]]:
    """Number of tasks by `site`, by `domain` (tasks that have one) and by `oddity`."""
    return {
        "site": Counter(task.site for task in tasks),
        "domain": Counter(task.domain for task in tasks if task.domain),
        "oddity": Counter(oddity for task in tasks for oddity in _oddities(task)),
    }


def print_overview(tasks: Sequence[Task]) -> None:
    """The three as tables, to standard output."""
    for title, counts in overview(tasks).items():
        if not counts:
            continue
        table = Table(box=box.SIMPLE, pad_edge=False)
        table.add_column(title)
        table.add_column("tasks", justify="right")
        for name, count in sorted(counts.items()):
            table.add_row(name, str(count))
        if title != "oddity":
            table.add_section()
            table.add_row("all", str(sum(counts.values())))
        print_table(table)


def _oddities(task: Task) -> list[str]:
    oddities = []
    if find_dates(task.ques):
        oddities.append("names a date (toolkits/shift_dates.py brings dates up to date)")
    if "\n" in task.ques:
        oddities.append("has several lines")
    if urlsplit(task.web).scheme not in ("http", "https"):
        oddities.append("starts at no web address")
    if re.search(r"__[A-Z_]+__", task.web):
        oddities.append("has a placeholder for an address (environments/webarena/generate_test_data.py)")
    return oddities

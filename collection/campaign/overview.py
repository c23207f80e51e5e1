"""What a task file holds, without browsing: tasks per site and domain, and what is odd about them (`--dry_run`)."""

import re
from collections import Counter
from collections.abc import Sequence
from urllib.parse import urlsplit

from common.shown.tables import Table, print_table
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
        is_oddity = title == "oddity"  # a sentence
        table = Table([] if is_oddity else [title], ["tasks"], [title] if is_oddity else [])
        for name, count in sorted(counts.items()):
            table.add(*((str(count), name) if is_oddity else (name, str(count))))
        if not is_oddity:
            table.add("all", str(sum(counts.values())), is_total=True)
        print_table(table)


def _oddities(task: Task) -> list[str]:
    oddities = []
    if find_dates(task.ques):
        oddities.append("names a date (toolkits/shift_dates.py brings dates up to date)")
    if "\n" in task.ques:
        oddities.append("has several lines")
    if urlsplit(task.web).scheme not in ("http", "https", "android"):
        oddities.append("starts at no web address")
    if re.search(r"__[A-Z_]+__", task.web):
        oddities.append("has a placeholder for an address (environments/webarena/generate_test_data.py)")
    return oddities

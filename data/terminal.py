"""Printing texts of others: names of task files, words of pages and judges."""

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """`text` with a question mark for each control character but tab and newline: a terminal would obey them."""
    return _CONTROL.sub("?", text)


def print_table(table: object) -> None:
    """A `rich` table to standard output; what looks like markup in a cell is printed as it is."""
    from rich.console import Console  # imported here: it takes longer than a small conversion

    Console(markup=False, highlight=False).print(table)

"""Tables for eyes, in terminals and logs of any width: names are cut where there is no room, figures never."""

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from common.shown.terminal import printable

if TYPE_CHECKING:
    from rich.console import Console

_LEAST_CHARS = 8
"""What is left of a name or a sentence's line at least; where there is no room for so many, rows are told as lines."""


class Table:
    """Columns of names, which may be cut, then of figures, to the right, then of sentences, which go on below. Texts
    may be others': what a terminal would obey becomes a question mark."""

    def __init__(
        self, names: Sequence[str], figures: Sequence[str] = (), sentences: Sequence[str] = (), title: str = ""
    ):
        self.names, self.figures = tuple(map(printable, names)), tuple(map(printable, figures))
        self.sentences, self.title = tuple(map(printable, sentences)), printable(title)
        self.rows: list[tuple[str, ...]] = []
        self.totals: set[int] = set()
        """Rows with a line above them."""

    def add(self, *cells: str, is_total: bool = False) -> None:
        """A row, from the left; cells that are not given are empty."""
        if is_total:
            self.totals.add(len(self.rows))
        self.rows.append((*map(printable, cells), *[""] * (len(self.headings) - len(cells))))

    @property
    def headings(self) -> tuple[str, ...]:
        return self.names + self.figures + self.sentences


def print_table(table: Table, console: "Console | None" = None, width: int | None = None) -> None:
    """To standard output or `console`, as wide as it is or `width`; what looks like markup is printed as it is."""
    from rich.console import Console  # imported here: it takes longer than a small conversion

    console = console or Console()
    width = width or console.width
    if _least_width(table) <= width:
        console.print(_as_rich(table), width=width, highlight=False)
    else:
        for line in _as_lines(table, width):
            console.print(line, highlight=False, markup=False, soft_wrap=True)


def _as_rich(table: Table) -> object:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    made = RichTable(box=box.SIMPLE, collapse_padding=True, pad_edge=False, show_header=any(table.headings))
    made.title = Text(table.title) if table.title else None
    cut = functools.partial(Text, no_wrap=True, overflow="ellipsis")
    for heading in table.names:
        made.add_column(cut(heading))  # not the column: rich would take as much of one that must not wrap
    for heading in table.figures:
        made.add_column(Text(heading), justify="right", no_wrap=True)
    for heading in table.sentences:
        made.add_column(Text(heading))
    for number, row in enumerate(table.rows):
        if number in table.totals:
            made.add_section()
        names, others = row[: len(table.names)], row[len(table.names) :]
        made.add_row(*map(cut, names), *map(Text, others))
    return made


def _least_width(table: Table) -> int:
    from rich.cells import cell_len

    columns = zip(table.headings, *table.rows, strict=True)
    widths = [max(cell_len(line) for cell in cells for line in cell.split("\n")) for cells in columns]
    first, last = len(table.names), len(table.names) + len(table.figures)
    least = [width if first <= place < last else min(width, _LEAST_CHARS) for place, width in enumerate(widths)]
    return sum(least) + 2 * len(least)  # two spaces between columns, one at each end


def _as_lines(table: Table, width: int) -> Iterator[str]:
    """Each row as its names, and below them the figures with their headings, as many a line as there is room for."""
    from rich.cells import cell_len, set_cell_size

    if table.title:
        yield table.title
    first, last = len(table.names), len(table.names) + len(table.figures)
    for row in table.rows:
        if name := " ".join(filter(None, row[:first])):
            yield name if cell_len(name) <= width else set_cell_size(name, width - 1) + "…"
        line = ""
        for heading, cell in zip(table.figures, row[first:last], strict=True):
            pair = f"{heading} {cell}"
            if cell and line and cell_len(f"{line}, {pair}") > width:
                yield line
                line = ""
            if cell:
                line = f"{line}, {pair}" if line else f"  {pair}"
        yield from filter(None, (line, *(f"  {cell}" for cell in row[last:])))


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """As text with bars, the first row above a rule."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])

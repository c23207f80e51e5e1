"""Every research set that import_data.py reads: its fixture's actions against those that were written down by hand.

    python -m benchmarks.research_sets

The fixtures follow the published layouts (tests/toolkits/research/). What a set says and no action of ours
does is told by kind.
"""

import contextlib
import io
import tempfile
from pathlib import Path

from common.shown.tables import Table, print_table
from tests.toolkits.research import RESEARCH
from tests.toolkits.research.expected import Action, done, expected, imported, space_of


def main() -> None:
    """Import each, and print a row."""
    table = Table(["format"], ["steps compared", "equal"], ["left out"])
    for name in RESEARCH:
        told = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(told):
            found = _done(name)
        wanted = [step for steps in expected(name).values() for step in steps]
        had = [step for steps in found.values() for step in steps]
        equal = sum(one == other for one, other in zip(wanted, had, strict=False))
        left_out = told.getvalue().partition("left out: ")[2].partition("\n")[0]
        table.add(name, str(max(len(wanted), len(had))), str(equal), left_out)
    print_table(table, width=160)


def _done(name: str) -> dict[str, list[list[Action]]]:
    with tempfile.TemporaryDirectory() as folder:
        return done(name, imported(name, Path(folder) / "set", space_of(name)))


if __name__ == "__main__":
    main()

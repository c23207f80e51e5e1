"""A journal with our content (`content.py`)."""

from pathlib import Path

from environments.apps.hledger import content
from environments.apps.hledger.start import JOURNAL

CONTENT = ("../ledgers/entries.py", "check.py", "content.py", "seed.py")


def build(program: Path, state: Path) -> None:
    """In the empty folder `state`. hledger-web itself refuses to start on a journal with a fault."""
    (state / JOURNAL).write_text(content.written(content.make()))

"""A journal with our content (`content.py`)."""

import shutil
from pathlib import Path

from environments.apps.hledger import content
from environments.apps.hledger.start import JOURNAL

CONTENT = ("../ledgers/entries.py", "check.py", "content.py", "seed.py")


def build(program: Path, state: Path) -> None:
    """At `state`, which is not there yet. hledger-web itself refuses to start on a journal with a fault."""
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir(parents=True)
    (state / JOURNAL).write_text(content.written(content.make()))

"""A ledger with our content (`content.py`), which beancount has found no fault in."""

from pathlib import Path

from environments.apps.clock import BUILT, environment
from environments.apps.fava import content
from environments.apps.fava.start import LEDGER
from environments.apps.installing import python_of, run

CONTENT = ("../ledgers/entries.py", "check.py", "content.py", "seed.py")
_CHECK = """
import sys
from beancount.loader import load_file
entries, errors, options = load_file(sys.argv[1])
sys.exit("; ".join(map(str, errors)) or None)
"""


def build(program: Path, state: Path) -> None:
    """In the empty folder `state`.

    Raises:
        UserError: beancount finds a fault.
    """
    ledger = state / LEDGER
    ledger.write_text(content.written(content.make()))
    command = [str(python_of(program)), "-c", _CHECK, str(ledger)]
    run("the ledger has a fault", command, environment(program, BUILT))

"""Putting a running Fava back: it looks at its ledger's time before it answers."""

from pathlib import Path

from environments.apps.fava.start import LEDGER


def restore(seed: Path, state: Path) -> None:
    """The one file, written again."""
    (state / LEDGER).write_bytes((seed / LEDGER).read_bytes())

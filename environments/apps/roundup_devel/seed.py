"""The same bugs (`roundup/content.py`) in a Roundup with the pages of its devel skin."""

from pathlib import Path

from environments.apps.roundup import seed

CONTENT = ("seed.py", *(f"../roundup/{name}" for name in seed.CONTENT))


def build(program: Path, state: Path) -> None:
    """In the empty folder `state`.

    Raises:
        UserError: Roundup's own programs failed.
    """
    seed.build(program, state, "devel")

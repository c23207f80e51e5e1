"""JavaScript that runs inside pages, one function or shared part a file. `world.js` says what the parts share."""

import functools
from pathlib import Path


@functools.cache
def script(name: str) -> str:
    """The text of one of them."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")

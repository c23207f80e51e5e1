"""Trac and what it needs, from the Python package index."""

from pathlib import Path

from environments.apps.installing import CLOCK, python_environment

TITLE = "Trac"
VERSION = "1.6"
LICENSE = "BSD-3-Clause"
PACKAGES = (f"Trac=={VERSION}", "Jinja2==3.1.6", "MarkupSafe==3.0.4", "setuptools==65.5.0", CLOCK)


def install(program: Path) -> None:
    """Into a virtual environment at `program`."""
    python_environment(program, PACKAGES)

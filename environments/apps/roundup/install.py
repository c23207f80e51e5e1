"""Roundup and what it needs, from the Python package index."""

from pathlib import Path

from environments.apps.installing import CLOCK, python_environment

TITLE = "Roundup"
VERSION = "2.6.0"
LICENSE = "MIT AND ZPL-2.0 AND PSF-2.0"
_NEEDS = ("python-dateutil==4.0.0", "pytz==2026.6", "tzdata==2026.6", "setuptools==65.5.0")
PACKAGES = (f"roundup=={VERSION}", *_NEEDS, CLOCK)


def install(program: Path) -> None:
    """Into a virtual environment at `program`."""
    python_environment(program, PACKAGES)

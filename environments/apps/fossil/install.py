"""Fossil and the libraries it needs, from Debian's packages, unpacked into a folder of their own."""

from pathlib import Path

from environments.apps.installing import CLOCK, debian_packages, python_environment

TITLE = "Fossil"
VERSION = "2.21"
LICENSE = "BSD-2-Clause"
_DEBIAN = ("fossil=1:2.21-1+deb12u1", "libfuse2=2.9.9-6+b1", "libtcl8.6=8.6.13+dfsg-2")
PACKAGES = (*_DEBIAN, CLOCK)


def install(program: Path) -> None:
    """Into `program`, with a virtual environment for the clock."""
    python_environment(program, (CLOCK,))
    debian_packages(program, _DEBIAN)

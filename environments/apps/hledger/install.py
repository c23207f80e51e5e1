"""hledger-web and the libraries it needs, from Debian's packages, unpacked into a folder of their own."""

from pathlib import Path

from environments.apps.installing import CLOCK, debian_packages, python_environment

TITLE = "hledger-web"
VERSION = "1.25"
LICENSE = "GPL-3.0-or-later"
_LIBRARIES = ("libyaml-0-2=0.2.5-1", "libgmp10=2:6.2.1+dfsg1-1.1", "libffi8=3.4.4-1")
_DEBIAN = ("hledger-web=1.25-1", *_LIBRARIES)
PACKAGES = (*_DEBIAN, CLOCK)


def install(program: Path) -> None:
    """Into `program`, with a virtual environment for the clock."""
    python_environment(program, (CLOCK,))
    debian_packages(program, _DEBIAN)

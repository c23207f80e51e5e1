"""MediaWiki and the PHP that runs it, from Debian's packages, unpacked into a folder of their own."""

import shutil
from pathlib import Path

from environments.apps import php
from environments.apps.installing import CLOCK, debian_packages, python_environment

TITLE = "MediaWiki"
VERSION = "1.39.17"
LICENSE = "GPL-2.0-or-later"
_REVISION = "1+deb12u2"
_DEBIAN = (f"mediawiki=1:{VERSION}-{_REVISION}", f"mediawiki-classes=1:{VERSION}-{_REVISION}", *php.PACKAGES)
PACKAGES = (*_DEBIAN, CLOCK)
_LEFT_OUT = ("extensions-core", "mw-config")
"""What our wiki does not use."""


def wiki(program: Path) -> Path:
    """The folder of MediaWiki's programs."""
    return program / "usr" / "share" / "mediawiki"


def install(program: Path) -> None:
    """Into `program`, with a virtual environment for the clock."""
    python_environment(program, (CLOCK,))
    debian_packages(program, _DEBIAN)
    for name in _LEFT_OUT:
        shutil.rmtree(wiki(program) / name)
    for link in wiki(program).iterdir():
        if link.is_symlink():  # to folders of the system
            link.unlink()
    (program / php.COMPILED).mkdir()
    (wiki(program) / "images").mkdir()
    (wiki(program) / "extensions").mkdir()

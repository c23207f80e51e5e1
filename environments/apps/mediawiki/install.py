"""MediaWiki and the PHP that runs it, from Debian's packages, unpacked into a folder of their own."""

import shutil
from pathlib import Path

from environments.apps import php
from environments.apps.installing import About

_VERSION = "1.39.17"
_REVISION = "1+deb12u2"
_DEBIAN = (f"mediawiki=1:{_VERSION}-{_REVISION}", f"mediawiki-classes=1:{_VERSION}-{_REVISION}", *php.PACKAGES)
_LEFT_OUT = ("extensions-core", "mw-config")
"""What our wiki does not use."""


def wiki(program: Path) -> Path:
    """The folder of MediaWiki's programs."""
    return program / "usr" / "share" / "mediawiki"


def _finish(program: Path) -> None:
    for name in _LEFT_OUT:
        shutil.rmtree(wiki(program) / name)
    for link in wiki(program).iterdir():
        if link.is_symlink():  # to folders of the system
            link.unlink()
    (program / php.COMPILED).mkdir()
    (wiki(program) / "images").mkdir()
    (wiki(program) / "extensions").mkdir()


ABOUT = About(
    title="MediaWiki",
    version=_VERSION,
    license="GPL-2.0-or-later",
    debian=_DEBIAN,
    finish=_finish,
    held_out=True,
)

"""Roundup, as for its other skin."""

from environments.apps.roundup.install import LICENSE, PACKAGES, VERSION, install

TITLE = "Roundup, devel skin"

__all__ = ["LICENSE", "PACKAGES", "TITLE", "VERSION", "install"]

"""Roundup's own web server, as for its other skin."""

from environments.apps.roundup.start import COOKIES, START, command

__all__ = ["COOKIES", "START", "command"]

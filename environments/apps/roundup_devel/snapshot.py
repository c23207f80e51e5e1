"""Putting a running Roundup back, as for its other skin."""

from environments.apps.roundup.snapshot import restore

__all__ = ["restore"]

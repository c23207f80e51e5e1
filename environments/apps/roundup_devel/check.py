"""What a Roundup holds, and what its pages are about, as for its other skin."""

from environments.apps.roundup.check import place, records

__all__ = ["place", "records"]

"""What may be asked, as for the other skin."""

from environments.apps.roundup.tasks import TEMPLATES

__all__ = ["TEMPLATES"]

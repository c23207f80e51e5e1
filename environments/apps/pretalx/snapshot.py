"""Putting a running conference back."""

from environments.apps.django_project.lifecycle import restore

__all__ = ["restore"]

"""Putting a running website back."""

from environments.apps.django_project.lifecycle import restore

__all__ = ["restore"]

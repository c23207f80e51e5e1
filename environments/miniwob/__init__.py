"""Environments that bring their own websites and tasks, and hooks for those that bring a shared backend."""

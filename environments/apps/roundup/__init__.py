"""Roundup, in its responsive skin: bugs, tasks and milestones."""

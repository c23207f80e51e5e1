"""Roundup once more with the pages of its devel skin: the same bugs and the same tasks, another look."""

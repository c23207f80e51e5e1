"""Algorithms that tests bring along, found by their module paths."""

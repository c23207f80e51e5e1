"""Counting what was judged: success rates per site, faults, missing tasks."""

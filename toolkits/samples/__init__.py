"""Samples of whatever the toolkit reads, one by one, and what is counted of them.

Read `sources.py` first.
"""

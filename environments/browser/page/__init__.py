"""A tab: its frames, the scripts in them, what it loads, and when it has settled.

Read `page.py` first.
"""

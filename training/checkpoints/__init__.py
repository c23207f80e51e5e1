"""A run's state on disk: saved beside the training, resumed in any parallel layout.

Read `checkpoint.py` first.
"""

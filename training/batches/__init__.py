"""From shards to the micro-batches that a rank computes.

Stored samples come in, `OptimizerStep`s go out. Read `feed.py` first, then `dataset.py` and `collate.py`.
"""

"""Samples as shards hold them: records, pictures, and the trajectories that they are steps of.

Read `stored_sample.py` first.
"""

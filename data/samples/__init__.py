"""Samples: what training reads of trajectories, one a step or one for several, and the fields that they may carry.

In comes a trajectory, out come records for `data/shards/`. Read `turn_samples.py` first, then `rewarded_step.py`.
"""

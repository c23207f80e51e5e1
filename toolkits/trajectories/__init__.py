"""Trajectories as the toolkits' commands share them: rollouts with rewards, replay, pictures of them.

Read `rollouts.py` first.
"""

"""How a model is asked for a verdict: retries, faults, cost, cache, votes.

Read `endpoint.py` first.
"""

"""One trajectory as its page shows it: what the agent saw and did, what was thought of it, what training reads of it.

In comes a set's folder and a trajectory's name, out come values for JSON. Read `detail.py` first, then `tokens.py`.
"""

"""The wall between pages and networks: which addresses they may reach.

Read `gate.py` first; `url_policy.py` has the rules.
"""

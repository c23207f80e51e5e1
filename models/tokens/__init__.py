"""A conversation as the tokens that a policy learns from, and which of them it learns.

Read `encoding.py` first.
"""

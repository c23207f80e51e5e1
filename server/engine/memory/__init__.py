"""What the engine remembers, within a budget: keys and values, prefixes, image features.

Read `engine_memory.py` first; `memory_budget.py` says how much there may be.
"""

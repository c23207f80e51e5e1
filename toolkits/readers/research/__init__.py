"""The field's sets of demonstrations and of grounding, as episodes of canonical actions, which any action space says.

Read `episodes.py` first, then a set's own file in `sets/`; `research_sets.py` lists them.
"""

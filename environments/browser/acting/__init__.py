"""An action on a page: aimed, proven, done, and compared with its intent.

Read `actions.py` first, then `aim.py`.
"""

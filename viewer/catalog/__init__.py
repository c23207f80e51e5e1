"""The catalog: what lies in the folders that the viewer was given, found, checked and kept in an index.

In come folders of any origin, out come heads of trajectories by keys; nothing else opens a file of theirs. Read
`index.py` first, then `opened.py` and `reading.py`.
"""

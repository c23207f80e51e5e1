"""The field's other data, read into our contracts; no reader runs what a file says.

`formats.py` has a line for each format, `detect.py` knows them by their looks. The readers stand in rooms:
`interchange/` (what trainers and agents exchange), `research/` (sets of demonstrations) and `logs/` (what agents leave
behind). `reading/` is what they share.
"""

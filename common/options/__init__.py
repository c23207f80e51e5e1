"""Options: a dataclass and its limits become flags, and what is typed becomes its value or one line of error.

In come words or the values of a recipe, out comes a checked dataclass; `flags` goes the other way. Read
`command_line.py` first, then `limits.py`.
"""

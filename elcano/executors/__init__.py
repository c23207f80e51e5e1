"""Where commands run: `elcano run --executor NAME` takes `Executor` of the file of that name in this folder.

In come commands with what they need, out come their ends and the addresses of services. Read `executor.py` first.
"""

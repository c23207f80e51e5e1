"""The `elcano` command: recipes and rounds, run as the commands a person would type.

In comes a recipe, out comes a folder with every round and a report. Read `rounds.py` first, then `stages/` for what
each step of a round runs and `executors/` for where it runs.
"""

"""Stages of a round: what each runs, which services it needs beside it, and how it goes on after a kill.

In comes a recipe, out come the rooms' commands, run. `elcano/rounds.py` puts them in order. Read `commands.py` first,
then `columns.py`.
"""

"""From a typed command to running ranks: variables, demonstration, survey of the samples, torchrun.

Read `command.py` first, then `launch.py`.
"""

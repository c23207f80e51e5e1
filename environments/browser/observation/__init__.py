"""What is on the screen: the accessibility tree, marks, and where each element is drawn.

A page comes in, an `Observation` goes out. Read `observe.py` first.
"""

"""What people see in terminals, logs and pictures: tables of any width, texts of others made harmless, figures.

In come values and texts of others, out come lines and picture files. Read `tables.py` first.
"""

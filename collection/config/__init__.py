"""The collectors' flags, each in one place: fields of frozen dataclasses, which recipes hold as they are.

Nothing here imports more than contracts, so that a recipe is read and checked where nothing else is installed.
"""

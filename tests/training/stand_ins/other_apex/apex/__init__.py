"""Stands for the package that PyPI calls apex: another project."""

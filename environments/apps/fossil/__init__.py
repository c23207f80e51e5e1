"""Fossil: tickets, a wiki and the history of a program's files."""

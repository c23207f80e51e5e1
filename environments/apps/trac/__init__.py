"""Trac: tickets, a wiki, milestones and reports."""

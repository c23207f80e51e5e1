"""Months as people call them and as account books write them."""

import calendar


def called(month: str) -> str:
    """March 2025 for 2025-03."""
    year, number = month.split("-")
    return f"{calendar.month_name[int(number)]} {year}"


def in_numbers(month: str) -> str:
    """2025-03 for March 2025."""
    name, year = month.split()
    return f"{year}-{list(calendar.month_name).index(name):02}"

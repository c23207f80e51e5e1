"""Dates in instructions: found, and moved by whole years, so that season, wording and intervals stay.

Only years that belong to a month or a full date are moved ("December 25th, 2023", "3-7 Jan 2024", "2024-05-01"); a
bare year ("the 2018 World Cup") is a name more often than a date.
"""

import calendar
import datetime
import re
from dataclasses import dataclass

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_MONTH = rf"(?:{_MONTHS}|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?"
_DAY = r"(?:\d{1,2})(?:st|nd|rd|th)?\b"
_SPAN = rf"(?:[\s,]|(?:{_MONTH})|{_DAY}|to\b|and\b|until\b|through\b|[-–—/])"  # what may stand between month and year
_PATTERNS = [
    re.compile(rf"(?:{_DAY}\s+(?:of\s+)?)?\b{_MONTH}{_SPAN}{{0,12}}?\b(?P<year>20\d\d)\b"),
    re.compile(r"\b(?P<year>20\d\d)[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})\b"),
    re.compile(r"\b(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>20\d\d)\b"),
]
_WITHOUT_YEAR = re.compile(rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}|\b{_MONTH}\s+{_DAY}|\b(?:{_MONTHS})\s+20\d\d\b")


@dataclass(frozen=True)
class FoundDate:
    """A date with a year: `start` and `end` are where the year stands in the text, `last` the last day it can mean."""

    start: int
    end: int
    last: datetime.date


def find_dates(text: str) -> list[str]:
    """All that reads like a date, with or without a year."""
    patterns = [*_PATTERNS, _WITHOUT_YEAR]
    return [match[0] for pattern in patterns for match in pattern.finditer(text)]


def find_years(text: str) -> list[FoundDate]:
    """The dates with a year, in the order of the text."""
    found: dict[int, FoundDate] = {}
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            parts = match.groupdict()
            month_and_day = (parts["month"], parts["day"]) if "month" in parts else _named_month(match)
            if (date := _last_day(int(parts["year"]), *month_and_day)) is not None:
                found.setdefault(match.start("year"), FoundDate(*match.span("year"), date))
    return [found[start] for start in sorted(found)]


def shift_dates(text: str, today: datetime.date, since: int) -> str:
    """The text with its dates moved by the fewest whole years that put all of them after `today`.

    Dates before the year `since` are history, and a text that holds one keeps all its dates.
    """
    dates = find_years(text)
    if not dates or any(date.last.year < since for date in dates):
        return text
    years = 0
    while not all(_lies_ahead(date.last, years, today) for date in dates):
        years += 1
    for date in reversed(dates):
        text = f"{text[: date.start]}{int(text[date.start : date.end]) + years}{text[date.end :]}"
    return text


def _named_month(match: re.Match[str]) -> tuple[str, str | None]:
    """(number of the month nearest to the year, day in it)."""
    text = match.string[match.start() : match.start("year")]
    nearest = list(re.finditer(_MONTH, text))[-1]
    month = [name[:3] for name in _MONTHS.split("|")].index(nearest[0][:3]) + 1
    after = re.findall(r"\d{1,2}", text[nearest.end() :])
    before = re.search(r"(\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?$", text[: nearest.start()])
    return str(month), after[-1] if after else (before[1] if before else None)


def _last_day(year: int, month: str, day: str | None) -> datetime.date | None:
    """The last day that is meant: the day, or the end of the month; None for what is no date."""
    if not 1 <= int(month) <= 12:
        return None
    in_month = calendar.monthrange(year, int(month))[1]
    last = in_month if day is None else int(day)
    return datetime.date(year, int(month), last) if 1 <= last <= in_month else None


def _lies_ahead(date: datetime.date, years: int, today: datetime.date) -> bool:
    """Whether there is such a day so many years later, and it is after `today`."""
    year = date.year + years
    return date.day <= calendar.monthrange(year, date.month)[1] and date.replace(year=year) > today

"""What inputs take, out of how people write it."""

import pytest

from environments.browser.acting.values import convert, format_of


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("date", "2026-12-25", "2026-12-25"),
        ("date", "12/25/2026", "2026-12-25"),
        ("date", "25.12.2026", "2026-12-25"),
        ("date", "December 25th, 2026", "2026-12-25"),
        ("date", "25 Dec 2026", "2026-12-25"),
        ("date", "4/4/2026", "2026-04-04"),
        ("date", "03/04/2026", None),  # two days
        ("date", "tomorrow", None),
        ("date", "2026-02-30", None),
        ("time", "3:30 PM", "15:30"),
        ("time", "3:30 p.m.", "15:30"),
        ("time", "12am", "00:00"),
        ("time", "15:30:20", "15:30:20"),
        ("time", "25:00", None),
        ("datetime-local", "2026-12-25 15:30", "2026-12-25T15:30"),
        ("datetime-local", "December 25, 2026, 3:30 PM", "2026-12-25T15:30"),
        ("datetime-local", "12/25/2026 at 3 PM", "2026-12-25T15:00"),
        ("datetime-local", "2026-12-25", None),
        ("month", "December 2026", "2026-12"),
        ("month", "12/2026", "2026-12"),
        ("week", "2026-W7", "2026-W07"),
        ("week", "week 52 of 2026", "2026-W52"),
        ("week", "next week", None),
        ("color", "FF8800", "#ff8800"),
        ("color", "#f80", "#ff8800"),
        ("color", "rgb(255, 136, 0)", "#ff8800"),
        ("color", "Red", "#ff0000"),
        ("color", "reddish", None),
        ("number", "1,200.5", "1200.5"),
        ("number", "1,5", None),  # a half more than one, or fifteen
        ("number", "two", None),
        ("number", "-3e2", "-3e2"),
        ("date", "", ""),
        ("text", "03/04/2026", "03/04/2026"),
    ],
)
def test_values(kind: str, text: str, value: str | None) -> None:
    assert convert(kind, text) == value
    assert bool(format_of(kind)) == (kind != "text")

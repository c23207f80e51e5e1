"""Entries of a plain-text account book: a line at the margin, and the indented lines below that belong to it."""

import re
from collections.abc import Iterable
from decimal import Decimal

_AMOUNT = re.compile(r"(-?[\d,]+(?:\.\d*)?)\s*([A-Z]+)")
Posting = tuple[str, str, str]
"""(account, amount, the rest of it)."""


def entries(lines: Iterable[str]) -> list[list[str]]:
    """Of each its lines."""
    found: list[list[str]] = []
    for line in filter(str.strip, lines):
        if line[0].isspace() and found:
            found[-1].append(line)
        else:
            found.append([line])
    return found


def written_postings(postings: list[Posting]) -> str:
    """In an order of their own, with the amount that may be left out of one of them."""
    return ", ".join(sorted(" ".join(filter(None, parts)) for parts in _balanced(postings)))


def _balanced(postings: list[Posting]) -> list[Posting]:
    given = [match for _, amount, _ in postings if (match := _AMOUNT.fullmatch(amount))]
    if len(given) != len(postings) - 1 or len({match[2] for match in given}) != 1:
        return postings
    rest = _written(-sum((Decimal(match[1]) for match in given), Decimal(0)), given[0][2])
    return [(account, amount or rest, more) for account, amount, more in postings]


def written_amount(text: str) -> str:
    """With two decimals where no more are needed; what is no amount as it stands."""
    match = _AMOUNT.fullmatch(text.strip())
    return _written(Decimal(match[1].replace(",", "")), match[2]) if match else plain(text)


def _written(number: Decimal, currency: str) -> str:
    return f"{number:.2f} {currency}" if number == round(number, 2) else f"{number} {currency}"


def plain(*texts: str) -> str:
    """With single spaces."""
    return " ".join(" ".join(texts).split())

"""What a journal holds, as records. How it is laid out makes no difference."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from environments.apps.hledger.start import JOURNAL

_DATE = re.compile(r"(\d{4})[-/.](\d\d?)[-/.](\d\d?)(?:=\S+)?")
_STATUS = re.compile(r"[!*]")
_CODE = re.compile(r"\(([^)]*)\)")
_RANGE = re.compile(r"date:(\d{4})-(\d\d)-01(?:\.\.|-)(\d{4})-(\d\d)-01")
_AMOUNT = re.compile(r"(-?[\d,]+(?:\.\d*)?) ?([A-Z]+)")


def records(state: Path) -> list[dict[str, Any]]:
    """Each with a `kind`."""
    return parse((state / JOURNAL).read_text(errors="replace"))


def parse(journal: str) -> list[dict[str, Any]]:
    """Records of a journal: transactions, and whatever else stands there by the line."""
    entries: list[list[str]] = []
    for line in filter(str.strip, journal.splitlines()):
        if line[0].isspace() and entries:
            entries[-1].append(line)
        else:
            entries.append([line])
    return [_record(head, below) for head, *below in entries]


def _record(head: str, below: list[str]) -> dict[str, Any]:
    date = _DATE.match(head)
    if date is None:
        return {"kind": "line", "text": _plain(head, *below)}
    text, _, comment = head[date.end() :].partition(";")
    status, text = _taken(_STATUS, text)
    code, text = _taken(_CODE, text)
    remarks = [comment, *(line for line in below if line.strip().startswith(";"))]
    postings = [_posting(line) for line in below if not line.strip().startswith(";")]
    return {
        "kind": "transaction",
        "date": f"{date[1]}-{date[2]:0>2}-{date[3]:0>2}",
        "status": status,
        "code": code.strip("()"),
        "description": _plain(text),
        "comment": _plain(*remarks),
        "postings": ", ".join(sorted(" ".join(filter(None, parts)) for parts in _balanced(postings))),
    }


def _taken(pattern: re.Pattern[str], text: str) -> tuple[str, str]:
    """What stands at the beginning, and the rest."""
    match = pattern.match(text.lstrip())
    return (match[0], text.lstrip()[match.end() :]) if match else ("", text)


def _posting(line: str) -> tuple[str, str, str]:
    """(account, amount, the rest of it)."""
    text, _, comment = line.partition(";")
    status, text = _taken(_STATUS, text)
    account, amount = [*re.split(r"\s{2,}", text.strip(), maxsplit=1), ""][:2]  # a single space is part of the name
    return _plain(account), _amount(amount), _plain(status, comment)


def _balanced(postings: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """With the amount that may be left out of one of them."""
    given = [match for _, amount, _ in postings if (match := _AMOUNT.fullmatch(amount))]
    if len(given) != len(postings) - 1 or len({match[2] for match in given}) != 1:
        return postings
    rest = _written(-sum((Decimal(match[1]) for match in given), Decimal(0)), given[0][2])
    return [(account, amount or rest, more) for account, amount, more in postings]


def _amount(text: str) -> str:
    match = _AMOUNT.fullmatch(text.strip())
    return _written(Decimal(match[1].replace(",", "")), match[2]) if match else _plain(text)


def _written(number: Decimal, currency: str) -> str:
    return f"{number:.2f} {currency}" if number == round(number, 2) else f"{number} {currency}"


def _plain(*texts: str) -> str:
    return " ".join(" ".join(texts).split())


def place(url: str) -> str:
    """What a page is about: its path and what it is searched for."""
    address = urlsplit(url)
    path = unquote(address.path).rstrip("/") or "/"
    words = re.findall(r'[^\s"]*"[^"]*"|\S+', dict(parse_qsl(address.query)).get("q", ""))
    asked = " ".join(sorted(_month(word.replace('"', "")) for word in words))
    return f"{path}?{asked}" if asked else path


def _month(word: str) -> str:
    """A month by its name where it is given by its first day and that of the next one."""
    word = re.sub(r"(?<=\d)/(?=\d)", "-", word)
    match = _RANGE.fullmatch(word)
    if match is None:
        return word
    year, month, until_year, until_month = map(int, match.groups())
    whole = (until_year, until_month) == (year + month // 12, month % 12 + 1)
    return f"date:{year}-{month:02}" if whole else word

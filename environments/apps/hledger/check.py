"""What a journal holds, as records. How it is laid out makes no difference."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from environments.apps.hledger.start import JOURNAL
from environments.apps.ledgers.entries import Posting, entries, plain, written_amount, written_postings

_DATE = re.compile(r"(\d{4})[-/.](\d\d?)[-/.](\d\d?)(?:=\S+)?")
_STATUS = re.compile(r"[!*]")
_CODE = re.compile(r"\(([^)]*)\)")
_RANGE = re.compile(r"date:(\d{4})-(\d\d)-01(?:\.\.|-)(\d{4})-(\d\d)-01")


def records(state: Path) -> list[dict[str, Any]]:
    """Each with a `kind`."""
    return parse((state / JOURNAL).read_text(errors="replace"))


def parse(journal: str) -> list[dict[str, Any]]:
    """Records of a journal: transactions, and whatever else stands there by the line."""
    return [_record(head, below) for head, *below in entries(journal.splitlines())]


def _record(head: str, below: list[str]) -> dict[str, Any]:
    date = _DATE.match(head)
    if date is None:
        return {"kind": "line", "text": plain(head, *below)}
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
        "description": plain(text),
        "comment": plain(*remarks),
        "postings": written_postings(postings),
    }


def _taken(pattern: re.Pattern[str], text: str) -> tuple[str, str]:
    """What stands at the beginning, and the rest."""
    match = pattern.match(text.lstrip())
    return (match[0], text.lstrip()[match.end() :]) if match else ("", text)


def _posting(line: str) -> Posting:
    text, _, comment = line.partition(";")
    status, text = _taken(_STATUS, text)
    account, amount = [*re.split(r"\s{2,}", text.strip(), maxsplit=1), ""][:2]  # a single space is part of the name
    return plain(account), written_amount(amount), plain(status, comment)


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

"""What a ledger holds, as records. How it is laid out makes no difference."""

import calendar
import re
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from environments.apps.fava.start import LEDGER

_TEXT = r'"((?:[^"\\]|\\.)*)"'
_LINE = re.compile(r'(?:[^"\n]|"(?:[^"\\]|\\.)*"|")+')
_ENTRY = re.compile(r"(\d{4}-\d\d-\d\d)\s+(\S+)\s*(.*)", re.DOTALL)
_POSTING = re.compile(r"\s+(?:([!*])\s+)?([A-Z][\w:-]+)\s*(.*)", re.DOTALL)
_AMOUNT = re.compile(r"(-?[\d,]+(?:\.\d*)?)\s*([A-Z]+)")
_COMMENT = re.compile(r"\s*;[^\"\n]*$")
_FLAGS = {"*", "!", "txn"}
_FILTERS = ("account", "filter", "time")
_RANGE = re.compile(r"(\d{4})-(\d\d)-01 ?(?:-|to) ?\1-\2-(\d\d)")


def records(state: Path) -> list[dict[str, Any]]:
    """Each with a `kind`."""
    return parse((state / LEDGER).read_text(errors="replace"))


def parse(ledger: str) -> list[dict[str, Any]]:
    """Records of a ledger: transactions, notes, balances, accounts, and whatever else stands there by the line."""
    entries: list[list[str]] = []
    for line in filter(str.strip, (_COMMENT.sub("", line) for line in _LINE.findall(ledger))):
        if line[0].isspace() and entries:
            entries[-1].append(line)
        else:
            entries.append([line])
    return [_record(head, below) for head, *below in entries]


def _record(head: str, below: list[str]) -> dict[str, Any]:
    match = _ENTRY.fullmatch(head.strip())
    if match and match[2] in _FLAGS:
        return _transaction(match[1], "*" if match[2] == "txn" else match[2], match[3], below)
    words = match[3].split(None, 1) if match else []
    if match and len(words) == 2:
        named = {"kind": match[2], "date": match[1], "account": words[0], "meta": _plain(*below)}
        if match[2] == "note" and (text := re.fullmatch(_TEXT, words[1], re.DOTALL)):
            return {**named, "text": _plain(text[1])}
        if match[2] == "balance":
            return {**named, "amount": _amount(words[1])}
    return {"kind": "line", "text": _plain(head, *below)}


def _transaction(day: str, flag: str, rest: str, below: list[str]) -> dict[str, Any]:
    texts = [_plain(text) for text in re.findall(_TEXT, rest)]
    payee, narration = ["", "", *texts][-2:]
    found = [(_POSTING.fullmatch(line), line) for line in below]
    postings = [(match[2], _amount(match[3]), match[1] or "") for match, _ in found if match]
    return {
        "kind": "transaction",
        "date": day,
        "flag": flag,
        "payee": payee,
        "narration": narration,
        "tags": _plain(re.sub(_TEXT, "", rest)),
        "meta": _plain(*(line for match, line in found if not match)),
        "postings": ", ".join(sorted(" ".join(filter(None, parts)) for parts in _balanced(postings))),
    }


def _balanced(postings: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """With the amount that may be left out of one of them."""
    given = [match for _, amount, _ in postings if (match := _AMOUNT.fullmatch(amount))]
    if len(given) != len(postings) - 1 or len({match[2] for match in given}) != 1:
        return postings
    rest = _written(-sum((Decimal(match[1]) for match in given), Decimal(0)), given[0][2])
    return [(account, amount or rest, flag) for account, amount, flag in postings]


def _amount(text: str) -> str:
    match = _AMOUNT.fullmatch(text.strip())
    return _written(Decimal(match[1].replace(",", "")), match[2]) if match else _plain(text)


def _written(number: Decimal, currency: str) -> str:
    return f"{number:.2f} {currency}" if number == round(number, 2) else f"{number} {currency}"


def _plain(*texts: str) -> str:
    return " ".join(" ".join(texts).split())


def place(url: str) -> str:
    """What a page is about: its path and what it is filtered by."""
    address = urlsplit(url)
    asked = dict(parse_qsl(address.query))
    filters = [f"{name}={_month(asked[name])}" for name in _FILTERS if asked.get(name)]
    path = unquote(address.path).rstrip("/") or "/"
    return "?".join([path, *filters])


def _month(time: str) -> str:
    """A month by its name where it is given by its first and last day."""
    match = _RANGE.fullmatch(time.strip())
    whole = match and int(match[3]) == calendar.monthrange(int(match[1]), int(match[2]))[1]
    return f"{match[1]}-{match[2]}" if match and whole else time.strip()

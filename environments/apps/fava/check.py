"""What a ledger holds, as records. How it is laid out makes no difference."""

import calendar
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from environments.apps.fava.start import LEDGER
from environments.apps.ledgers.entries import entries, plain, written_amount, written_postings

_TEXT = r'"((?:[^"\\]|\\.)*)"'
_LINE = re.compile(r'(?:[^"\n]|"(?:[^"\\]|\\.)*"|")+')
_ENTRY = re.compile(r"(\d{4}-\d\d-\d\d)\s+(\S+)\s*(.*)", re.DOTALL)
_POSTING = re.compile(r"\s+(?:([!*])\s+)?([A-Z][\w:-]+)\s*(.*)", re.DOTALL)
_COMMENT = re.compile(r"\s*;[^\"\n]*$")
_FLAGS = {"*", "!", "txn"}
_FILTERS = ("account", "filter", "time")
_RANGE = re.compile(r"(\d{4})-(\d\d)-01 ?(?:-|to) ?\1-\2-(\d\d)")


def records(state: Path) -> list[dict[str, Any]]:
    """Each with a `kind`."""
    return parse((state / LEDGER).read_text(errors="replace"))


def parse(ledger: str) -> list[dict[str, Any]]:
    """Records of a ledger: transactions, notes, balances, accounts, and whatever else stands there by the line."""
    return [_record(head, below) for head, *below in entries(_COMMENT.sub("", line) for line in _LINE.findall(ledger))]


def _record(head: str, below: list[str]) -> dict[str, Any]:
    match = _ENTRY.fullmatch(head.strip())
    if match and match[2] in _FLAGS:
        return _transaction(match[1], "*" if match[2] == "txn" else match[2], match[3], below)
    words = match[3].split(None, 1) if match else []
    if match and len(words) == 2:
        named = {"kind": match[2], "date": match[1], "account": words[0], "meta": plain(*below)}
        if match[2] == "note" and (text := re.fullmatch(_TEXT, words[1], re.DOTALL)):
            return {**named, "text": plain(text[1])}
        if match[2] == "balance":
            return {**named, "amount": written_amount(words[1])}
    return {"kind": "line", "text": plain(head, *below)}


def _transaction(day: str, flag: str, rest: str, below: list[str]) -> dict[str, Any]:
    texts = [plain(text) for text in re.findall(_TEXT, rest)]
    payee, narration = ["", "", *texts][-2:]
    found = [(_POSTING.fullmatch(line), line) for line in below]
    postings = [(match[2], written_amount(match[3]), match[1] or "") for match, _ in found if match]
    return {
        "kind": "transaction",
        "date": day,
        "flag": flag,
        "payee": payee,
        "narration": narration,
        "tags": plain(re.sub(_TEXT, "", rest)),
        "meta": plain(*(line for match, line in found if not match)),
        "postings": written_postings(postings),
    }


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

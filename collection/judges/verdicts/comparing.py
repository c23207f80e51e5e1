"""How WebArena's evaluators compare answers and addresses: `whole`, or as its published code does.

`whole` takes an address as a browser writes it, and a word or a number as a whole. The published code looks for one
text in another, so that "2014" includes "14", and another spelling of the same address is another one.
docs/reference/feedback.md has the table of where they differ.
"""

import re
from typing import Literal
from urllib.parse import parse_qs, urlsplit

import httpx

from environments.browser.gate.url_policy import normal_host

Rules = Literal["whole", "published"]
OR = " |OR| "

_NUMBER = re.compile(r"(?<![a-z0-9])(?<!\d\.)(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?")
_LETTER = "a-z0-9\u00c0-\u024f"  # scripts without spaces between words have no edges of words
_QUOTES = (("'", "'"), ('"', '"'))


def clean(text: str) -> str:
    """Lower case, without white space and one pair of quotes around it."""
    text = text.strip()
    if len(text) > 1 and (text[0], text[-1]) in _QUOTES:
        text = text[1:-1]
    return text.lower()


def includes(answer: str, value: str, alone: bool, rules: Rules = "whole") -> bool:
    """Whether one of the alternatives in `value` is in a clean answer. `alone`: it is the only one that must be; as
    published a single character has to be a word then."""
    holds = _includes_published if rules == "published" else _includes_whole
    return any(holds(answer, alternative, alone) for alternative in map(clean, value.split(OR)))


def _includes_published(answer: str, wanted: str, alone: bool) -> bool:
    if alone and len(wanted) == 1:
        return bool(re.search(rf"(?<![\w.]){re.escape(wanted)}(?![\w]|\.\d)", answer))
    return wanted in answer


def _includes_whole(answer: str, wanted: str, alone: bool) -> bool:
    if _NUMBER.fullmatch(wanted):
        return any(_value(found) == _value(wanted) for found in _NUMBER.findall(answer))
    start = rf"(?<![{_LETTER}])" if re.match(f"[{_LETTER}]", wanted) else ""
    end = r"(?![.,]?\d)" if wanted[-1:].isdecimal() else rf"(?:e?s|'s)?(?![{_LETTER}])"
    end = end if re.search(f"[{_LETTER}]$", wanted) else ""
    return bool(re.search(f"{start}{re.escape(wanted)}{end}", answer))


def _value(number: str) -> tuple[str, str]:
    """Digits before and after the point; equal for equal numbers, however long."""
    whole, _, part = number.replace(",", "").partition(".")
    return whole.lstrip("0"), part.rstrip("0")


def leads_to(url: str, references: str, rules: Rules = "whole") -> bool:
    """Whether an address is, or lies below, one of the references, with their query parameters (GOLD in PRED)."""
    split = _split_published if rules == "published" else _split_whole
    path, query = split(url)
    wanted = [split(reference) for reference in references.split(OR)]
    keys = {key for _, reference in wanted for key in reference}
    allowed = {key: {value for _, reference in wanted for value in reference.get(key, [])} for key in keys}
    if rules == "published":
        is_there = any(reference in path for reference, _ in wanted)
    else:
        is_there = any(f"{path}/".startswith(f"{reference}/") for reference, _ in wanted)
    return is_there and all(allowed[key] & set(query.get(key, [])) for key in keys)


def _split_published(url: str) -> tuple[str, dict[str, list[str]]]:
    """(host and path without a slash at the end, query)."""
    parts = urlsplit(url)
    return (parts.netloc + parts.path).rstrip("/"), parse_qs(parts.query)


def _split_whole(url: str) -> tuple[str, dict[str, list[str]]]:
    """The same without user, default port and dots, the host in one spelling, and percent signs decoded."""
    try:
        parts = httpx.URL(url.strip())
    except (httpx.InvalidURL, UnicodeError):
        return _split_published(url)
    port = f":{parts.port}" if parts.port else ""
    return (normal_host(parts.host) + port + parts.path).rstrip("/"), parse_qs(parts.query.decode("ascii", "replace"))

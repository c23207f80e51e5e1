"""Printing texts of others: names of task files, words of pages, servers and judges."""

import re

_SHOWN_CHARS = 200
_MOST_CHARS = 2000  # of an error: a value of a file may be part of it
_CODE_BEGINS, _CODE_ENDS = re.compile(r"(?i)<(?:script|style)\b"), re.compile(r"(?i)</(?:script|style)\s?>")
_TAGS = re.compile(r"<[^<>]*>")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """`text` with a question mark for each control character but tab and newline: a terminal would obey them."""
    return _CONTROL.sub("?", text)


def in_short(text: str) -> str:
    """Somebody's answer for a message: one line, and of an HTML page its words."""
    if text.lstrip().startswith("<"):
        text = _TAGS.sub(" ", " ".join(_CODE_BEGINS.split(part, 1)[0] for part in _CODE_ENDS.split(text)))
    return printable(" ".join(text.split()))[:_SHOWN_CHARS]


def error_line(error: Exception) -> str:
    """What a command prints of an error that a user can mend; the middle of an endless one is left out."""
    text = printable(str(error))
    if len(text) > _MOST_CHARS:
        text = f"{text[: _MOST_CHARS // 2]} ... {text[-_MOST_CHARS // 2 :]}"
    return f"error: {text}"

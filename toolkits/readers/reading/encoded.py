"""Texts that are images: data URLs, and base64 as Ollama's messages and tables have it."""

import re

_URL = re.compile(r"data:", re.IGNORECASE)
_LEAST = 64
_BASE64 = re.compile(r"(iVBORw0KGgo|/9j/|UklGR|R0lGOD|Qk|SUkq|TU0AK)[A-Za-z0-9+/=\s]*")
"""How a PNG, JPEG, WebP, GIF, BMP or TIFF begins, and what may follow. That is one class of letters: two that share
spaces would take a square of the time."""


def is_data_url(text: str) -> bool:
    """In whatever letters."""
    return _URL.match(text) is not None


def begins_as_base64(text: str) -> bool:
    """Whether a text may be an image in base64 rather than its path."""
    return len(text) >= _LEAST and _BASE64.fullmatch(text) is not None

"""Replies on disk, keyed by the content of the request: what was paid for once is never asked again."""

import hashlib
import json
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_json, write_json


class ReplyCache:
    """One small JSON file per request under `folder`; safe to share between threads and processes."""

    def __init__(self, folder: Path):
        self.folder = folder

    @staticmethod
    def key(request: dict[str, Any]) -> str:
        """SHA-256 over endpoint, model, sampling parameters and every character and pixel of the messages."""
        return hashlib.sha256(json.dumps(request, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    def get(self, key: str) -> str | None:
        """The reply's text; None when there is none, or when its file cannot be read."""
        try:
            text = read_json(self._path(key))["text"]
        except (UserError, KeyError, TypeError, OSError):
            return None
        return text if isinstance(text, str) else None

    def put(self, key: str, text: str, model: str) -> None:
        """Remember a reply."""
        write_json(self._path(key), {"text": text, "model": model})

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"

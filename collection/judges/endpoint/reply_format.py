"""How an endpoint is told the form of a verdict: by a JSON schema, as any JSON object, or in words alone.

Found out with its first requests, from the strictest on, remembered beside the replies, and said once.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from collection.judges.endpoint.reply_cache import ReplyCache

FormatName = Literal["json_schema", "json_object", "text"]
FORMATS: tuple[FormatName, ...] = ("json_schema", "json_object", "text")
_SAID = {
    "json_schema": "gives verdicts by a JSON schema",
    "json_object": "takes no JSON schema: verdicts are JSON objects, checked here",
    "text": "takes no response_format: a verdict is the demanded last line of the reply",
}


class ReplyFormat:
    """Of one endpoint and model; thread-safe. `name` is the strictest format not known to fail, and certain when
    `is_found`."""

    def __init__(self, url: str, model: str, cache: ReplyCache, given: FormatName | None = None):
        self._url, self._model, self._cache = url, model, cache
        self._key = cache.key({"endpoint": url, "model": model, "remembered": "reply format"})
        known = given or cache.get(self._key)
        self.is_found = known in FORMATS
        self.name: FormatName = known if known in FORMATS else FORMATS[0]
        self._lock, self._first, self._first_is_over = threading.Lock(), threading.Lock(), threading.Event()

    def found(self, name: FormatName) -> None:
        """A reply came in this format, and the stricter ones failed."""
        with self._lock:
            if self.is_found:
                return
            self.is_found, self.name = True, name
            self._cache.put(self._key, name, self._model)
            print(f"{self._url}: {self._model} {_SAID[name]}", file=sys.stderr)
            self._first_is_over.set()

    @contextmanager
    def finding(self) -> Iterator[None]:
        """Around a request: while the first one finds out, others wait for it; if it ends without, they try, too."""
        is_first = not self.is_found and self._first.acquire(blocking=False)
        if not is_first and not self.is_found:
            self._first_is_over.wait()
        try:
            yield
        finally:
            if is_first:
                self._first_is_over.set()


def next_format(name: FormatName) -> FormatName:
    """The next less strict one."""
    return FORMATS[FORMATS.index(name) + 1]

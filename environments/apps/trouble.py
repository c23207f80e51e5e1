"""Trouble on demand: what goes wrong between a browser and its application, the same for the same seed and task.

    --trouble delay=0.5 errors=0.1 expiry=1 popups=0.2 seed=3

Nothing that is refused reaches the application, so that what a task asks for can still be done once.
"""

import dataclasses
import html
import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from common.errors import UserError

SIGN_IN = "/_elcano/sign-in"
EXPIRES_WITHIN = (2, 5)
"""Pages of an episode, the start page being the first: its session expires at one from here to there."""
STATUSES = {500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable"}
_RESET = 0  # among the statuses: the connection breaks off
_POPUPS = (
    ("We use cookies", "Cookies help us to improve our service.", "Accept"),
    ("Get our newsletter", "News of this site, once a month.", "No, thanks"),
    ("How do you like this site?", "A survey of two minutes.", "Later"),
)
_PAGE = re.compile(rb"(?im)^(?:sec-fetch-dest: *document\b|accept: *text/html)")
_NO_PAGE = re.compile(rb"(?im)^sec-fetch-dest:(?! *document\b)")
_WHOLE = re.compile(rb"(?i)\s*<!doctype html")
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
_REFERER = re.compile(rb"(?im)^referer: *https?://[^/\r]+(/[^\r]*)")


@dataclasses.dataclass(frozen=True)
class Trouble:
    """Shares are of an episode's pages after the first; `delay` is the mean of seconds that an answer is late."""

    delay: float = 0.0
    errors: float = 0.0
    expiry: float = 0.0
    """The share of episodes whose session expires once."""
    popups: float = 0.0
    seed: int = 0

    @classmethod
    def read(cls, words: Sequence[str]) -> "Trouble":
        """From `errors=0.1` and the like.

        Raises:
            UserError: naming the word that is none.
        """
        kinds = {field.name: int if field.name == "seed" else float for field in dataclasses.fields(cls)}
        given: dict[str, Any] = {}
        for word in words:
            name, _, value = word.partition("=")
            try:
                given[name] = kinds[name](value)
            except (KeyError, ValueError):
                raise UserError(f"--trouble {word}: give {', '.join(kinds)} a number each, as in errors=0.1") from None
            most = {"delay": 30.0, "seed": math.inf}.get(name, 1.0)
            if not 0 <= given[name] <= most:
                raise UserError(f"--trouble {word}: {name} may be 0 to {most:g}")
        return cls(**given)

    def __bool__(self) -> bool:
        return self.delay + self.errors + self.expiry + self.popups > 0

    def episode(self, task_id: str) -> "EpisodeTrouble":
        """What a task meets."""
        return EpisodeTrouble(self, task_id)


@dataclasses.dataclass(frozen=True)
class Met:
    """What a request meets: seconds to wait, then an `answer` in the place of the application's (b"": the connection
    breaks), or a `popup` on its page."""

    delay_s: float = 0.0
    answer: bytes | None = None
    popup: bytes = b""


class EpisodeTrouble:
    """Draws by what is asked and how often, since a browser asks for several things at the same time."""

    def __init__(self, trouble: Trouble, task_id: str):
        self._trouble, self._task_id = trouble, task_id
        self._asked: Counter[bytes] = Counter()
        self._num_pages, self._has_failed = 0, False
        rng = random.Random(f"{trouble.seed} {task_id}")
        self._expires_at = rng.randint(*EXPIRES_WITHIN) if rng.random() < trouble.expiry else 0
        self._back = b""  # where signing in leads, while the session has expired

    def meet(self, head: bytes) -> Met:
        """What the request with this head meets."""
        method, path, *_ = *head.split(b" ", 2), b""
        rng = random.Random(f"{self._trouble.seed} {self._task_id} {self._asked[path]} {path!r}")
        self._asked[path] += 1
        delay_s = rng.uniform(0, 2 * self._trouble.delay)
        if path == SIGN_IN.encode() and self._back:
            back, self._back = self._back, b""
            return Met(delay_s, _answer("303 See Other", b"", b"Location: " + back + b"\r\n"))
        if not _PAGE.search(head) or _NO_PAGE.search(head):
            return Met(delay_s)
        self._num_pages += 1
        if self._num_pages == self._expires_at:
            referer = _REFERER.search(head)
            self._back = path if method == b"GET" else referer[1] if referer else b"/"
        if self._back:
            return Met(delay_s, _answer("200 OK", _EXPIRED))
        if self._num_pages == 1:
            return Met(delay_s)
        self._has_failed = not self._has_failed and rng.random() < self._trouble.errors
        if self._has_failed:
            # An address that is opened by itself, as by `Restart`, answers: else the episode says nothing of the agent.
            broken = [_RESET] if _REFERER.search(head) else []
            return Met(delay_s, _failure(rng.choice([*broken, *STATUSES])))
        return Met(delay_s, popup=_popup(*rng.choice(_POPUPS)) if rng.random() < self._trouble.popups else b"")


def with_popup(answer: bytes, popup: bytes) -> bytes:
    """An application's whole answer with a pop-up on its page; any other is as it was, also one whose chunks cannot be
    read."""
    head, _, body = answer.partition(b"\r\n\r\n")
    if not re.search(rb"(?im)^content-type: *text/html", head):
        return answer
    if re.search(rb"(?im)^transfer-encoding: *chunked", head):
        body = _unchunked(body)
    if (place := body.lower().rfind(b"</body>")) < 0:
        if not _WHOLE.match(body):
            return answer  # a part of a page
        place = len(body)  # a page may leave out how it ends
    body = body[:place] + popup + body[place:]
    head = re.sub(rb"(?i)\r\n(?:content-length|transfer-encoding|content-security-policy):[^\r]*", b"", head)
    return head + f"\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def _unchunked(body: bytes) -> bytes:
    """What the chunks hold; nothing, where they are malformed or break off."""
    parts, end = [], 0
    while size := _CHUNK.match(body, end):
        if not (length := int(size[1], 16)):
            return b"".join(parts)
        end = size.end() + length + 2
        if body[end - 2 : end] != b"\r\n":
            break
        parts.append(body[size.end() : end - 2])
    return b""


def _failure(status: int) -> bytes:
    if status == _RESET:
        return b""
    title = f"{status} {STATUSES[status]}"
    return _answer(title, _page(title, "<p>The server could not answer. Please try again.</p>"))


def _answer(status: str, body: bytes, headers: bytes = b"") -> bytes:
    fixed = b"Content-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\nConnection: close\r\n"
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n".encode() + headers + fixed + b"\r\n" + body


def _page(title: str, body: str) -> bytes:
    return f"<!doctype html><title>{title}</title><body><h1>{title}</h1>{body}</body>".encode()


_EXPIRED = _page(
    "Your session has expired",
    f'<p>You were signed out. What you sent last was not saved.</p><p><a href="{SIGN_IN}">Sign in again</a></p>',
)


def _popup(title: str, text: str, close: str) -> bytes:
    """It closes without a script, and looks the same whatever the application's style says of dialogs."""
    over = "all:revert;position:fixed;inset:0;width:100vw;height:100vh;max-width:none;max-height:none"
    over += ";margin:0;border:0;z-index:99999;background:rgba(0,0,0,.5)"
    box = "all:revert;margin:25vh auto;width:24em;padding:2em;background:#fff;color:#000;font:16px sans-serif"
    return (
        f'<dialog open aria-label="{html.escape(title)}" style="{over}">'
        f'<div style="{box}"><h2>{html.escape(title)}</h2><p>{html.escape(text)}</p>'
        f'<form method="dialog"><button style="all:revert">{html.escape(close)}</button></form></div></dialog>'
    ).encode()

"""Which key is sent where: each only to the host that it was meant for.

| key | goes to |
|---|---|
| `ELCANO_API_KEY` | our servers: `--api_localhost`, `--eval_score_url`, chat endpoints on their hosts or this machine |
| `ENDPOINT_API_KEY`, `--api_key` | the endpoint that `--api_base` names |
| `EVAL_API_KEY`, `--api_key` of the judging commands | the judging endpoint |
| `OPENAI_API_KEY` | OpenAI by https, and whatever `OPENAI_BASE_URL` names |

No key goes through a proxy of the environment in clear text.
"""

import contextlib
import functools
import ipaddress
import os
import sys
from collections.abc import Sequence
from urllib.parse import urlsplit, urlunsplit

import httpx

from common.network.bounded_http import BoundedClient
from common.options.key_flags import ENDPOINT_KEY

OPENAI_URL = "https://api.openai.com/v1"
_ASKING_TIMEOUT_S = 10.0


def own_server_headers() -> dict[str, str]:
    """What our own server (`/predict`, `/score`) wants to see."""
    key = os.environ.get("ELCANO_API_KEY", "")
    return {"authorization": f"Bearer {key}"} if key else {}


def base_key(flag: str) -> str:
    """The key for `--api_base`, given by flag (which `hide_keys` takes off the command line) or by variable."""
    return flag or os.environ.get(ENDPOINT_KEY, "")


def endpoint_key(base_url: str, given: str = "", own_servers: Sequence[str] = ()) -> str:
    """The key for an OpenAI-compatible endpoint; "" when none was meant for it.

    Args:
        base_url: "" is OpenAI's own, or what OPENAI_BASE_URL names.
        given: a key that was given for this very endpoint; it comes first.
        own_servers: addresses that the user gave as those of our servers; "" is none. What an endpoint elsewhere says
            of itself opens nothing: anybody can say it.
    """
    if given:
        return given
    if same_endpoint(base_url, "") or is_openai(base_url):
        return os.environ.get("OPENAI_API_KEY", "")
    own_key = os.environ.get("ELCANO_API_KEY", "")
    if not own_key or not is_own_server(base_url):
        return ""
    host = _origin(base_url)[1]
    if is_loopback(host) or host in [urlsplit(url).hostname for url in own_servers]:
        return own_key
    _say_withheld(base_url)
    return ""


def minds_proxies(base_url: str, key: str) -> bool:
    """Whether a client of this endpoint may ask the proxy of the environment, which would read a key sent by http."""
    return not key or _origin(base_url)[0] != "http"


def is_openai(base_url: str) -> bool:
    """Whether OpenAI itself answers there, and nobody else can read or answer."""
    scheme, host, _ = _origin(base_url)
    return scheme == "https" and f".{host}".endswith(".api.openai.com")


def same_endpoint(one: str, other: str) -> bool:
    """Whether two base URLs, either of which may be empty, lead to the same server."""
    return _origin(one) == _origin(other)


def _origin(base_url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def is_loopback(host: str | None) -> bool:
    """Whether a host is this machine by its very name."""
    if f".{host}".endswith(".localhost"):
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host or "").is_loopback
    return False


@functools.cache
def _say_withheld(base_url: str) -> None:
    print(
        f"{base_url} says that it is an Elcano server, but ELCANO_API_KEY goes to this machine and to the hosts of "
        "--api_localhost and --eval_score_url only: if it wants a key, set ENDPOINT_API_KEY, for a judge EVAL_API_KEY",
        file=sys.stderr,
    )


def is_own_server(base_url: str) -> bool:
    """Whether the server at a base URL says, without having seen a key, that it is Elcano's."""
    parts = urlsplit(base_url)
    address = urlunsplit((parts.scheme, parts.netloc, "/health", "", ""))
    with (
        contextlib.suppress(httpx.HTTPError, ValueError),
        BoundedClient(timeout=_ASKING_TIMEOUT_S, trust_env=False) as client,
    ):
        state = client.get(address).json()
        return isinstance(state, dict) and "weights_version" in state
    return False

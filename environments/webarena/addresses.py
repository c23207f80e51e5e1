"""Where WebArena's sites are: variables of the environment name them, and task files hold placeholders."""

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from common.errors import UserError
from common.shown.terminal import in_short
from environments.browser.gate.url_policy import host_and_port

# The sites by the names of WebArena's environment variables; a file says `__SHOPPING__` and so on.
SITES = ("SHOPPING", "SHOPPING_ADMIN", "REDDIT", "GITLAB", "MAP", "WIKIPEDIA", "HOMEPAGE")
_PORTS = {"http": 80, "https": 443}
_PLACEHOLDER = re.compile(rf"__({'|'.join(SITES)})__")
_SEPARATOR = re.compile(r" \|(?:AND|OR)\| ")
# What may stand around an address that is to stay one by itself: browsers drop tabs and newlines from addresses, take a
# backslash for a slash, and all before an @ for a user's name.
_BEFORE = re.compile(r"""[\s"'`(=,;|<>\[{]|[^\x00-\x7f]""")
_AFTER_FIRST = re.compile(r"""[/?#]|[.,;:!|]*(?:[ ][^@/?#]*(?:[/?#]|\Z)|\Z)""")
_AFTER = re.compile(r"""[/?#]|["'`](?!@)|[.,;:!|)\]}<>，。、；：！？）」]*(?:\s|["'`](?!@)|\Z)""")


def addresses_from_environment() -> dict[str, str]:
    """The sites' addresses, from variables such as SHOPPING=http://shop.test:7770, without a slash at the end."""
    return {site: os.environ[site].rstrip("/") for site in SITES if os.environ.get(site)}


def hosts_from_environment() -> list[str]:
    """`host:port` of these sites: who sets the variables says that agents may go there, also in a private network."""
    parts = [urlsplit(address) for address in addresses_from_environment().values()]
    return [
        host_and_port(part.hostname, part.port or _PORTS[part.scheme])
        for part in parts
        if part.hostname and part.scheme in _PORTS
    ]


def fill_placeholders(value: Any, addresses: Mapping[str, str], where: str) -> Any:
    """JSON with each `__SITE__` in its texts replaced, for the names in `SITES` alone.

    A task file comes from elsewhere: it could otherwise ask for any variable of the environment, and make a part of a
    foreign host's name of a site, as `__SHOPPING__@evil` would.

    Raises:
        UserError: no address is known for a site, or its placeholder is a part of another address.
    """
    if isinstance(value, list):
        return [fill_placeholders(one, addresses, where) for one in value]
    if isinstance(value, dict):
        return {name: fill_placeholders(one, addresses, where) for name, one in value.items()}
    if not isinstance(value, str):
        return value
    for address in _SEPARATOR.split(value):
        for match in _PLACEHOLDER.finditer(address):
            before, after = address[: match.start()], address[match.end() :]
            if not _is_whole_origin(before, after):
                raise UserError(
                    f"{where}: {in_short(address)}: {match[0]} is a whole address; end it there or by /, ? or #"
                )
            if match[1] not in addresses:
                raise UserError(f"{where}: needs the address of {match[1]}; set the environment variable {match[1]}")
    return _PLACEHOLDER.sub(lambda match: addresses[match[1]].rstrip("/"), value)


def _is_whole_origin(before: str, after: str) -> bool:
    """Whether an address between these texts is no part of a longer one, as browsers read it and as Python does."""
    if not before.strip():
        return bool(_AFTER_FIRST.match(after))
    return bool(_BEFORE.match(before[-1]) and _AFTER.match(after))

"""Where WebArena's sites are: variables of the environment name them, and task files hold placeholders."""

import json
import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from common.errors import UserError
from environments.browser.url_policy import host_and_port

# The sites by the names of WebArena's environment variables; a file says `__SHOPPING__` and so on.
SITES = ("SHOPPING", "SHOPPING_ADMIN", "REDDIT", "GITLAB", "MAP", "WIKIPEDIA", "HOMEPAGE")
_PORTS = {"http": 80, "https": 443}
_PLACEHOLDER = re.compile(r"__([A-Z_]+?)__")


def addresses_from_environment() -> dict[str, str]:
    """The sites' addresses, from variables such as SHOPPING=http://shop.test:7770, without a slash at the end."""
    return {site: os.environ[site].rstrip("/") for site in SITES if os.environ.get(site)}


def hosts_from_environment() -> list[str]:
    """`host:port` of these sites: who sets the variables says that agents may go there, also in a private network."""
    parts = [urlsplit(address) for address in addresses_from_environment().values()]
    return [host_and_port(part.hostname, part.port or _PORTS[part.scheme]) for part in parts if part.scheme in _PORTS]


def fill_placeholders(text: str, addresses: Mapping[str, str], where: str) -> str:
    """A JSON text with each `__SITE__` replaced, for the names in `SITES` alone; UserError for one without an address.
    A task file comes from elsewhere, and could otherwise ask for any variable of the environment."""

    def address(match: re.Match[str]) -> str:
        if match[1] not in SITES:
            return match[0]  # such as `__page__` or `__last_url__`, which evaluators know
        if match[1] not in addresses:
            raise UserError(f"{where}: needs the address of {match[1]}; set the environment variable {match[1]}")
        return json.dumps(addresses[match[1]].rstrip("/"))[1:-1]

    return _PLACEHOLDER.sub(address, text)

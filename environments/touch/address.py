"""Addresses of the phone: where it is, where it begins anew, and which of them an agent may not open by itself."""

import unicodedata
from urllib.parse import unquote, urlsplit

NAME = "phone"
HOST = f"{NAME}.localhost"


def start_path(seed: int) -> str:
    """Where the phone of this seed begins anew."""
    return f"/start/{seed}"


def home_of(url: str) -> str:
    """The home screen of the phone at this address."""
    return "{0.scheme}://{0.netloc}/".format(urlsplit(url))


def is_of_phone(url: str) -> bool:
    """Whether it may lead to the phone's own pages, among them the one where it begins anew, however it is spelled: a
    browser takes escapes, other letters of the same look and blanks out of a host."""
    return HOST in "".join(unicodedata.normalize("NFKC", unquote(url)).lower().split())

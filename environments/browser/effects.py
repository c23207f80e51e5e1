"""What came of an action, compared with what it was meant to do."""

from urllib.parse import urlsplit

_OPENED_HERE = ("http", "https", "javascript", "blob", "data", "about", "file", "")
MAX_CHARS = 100


def where_it_leads(link: str) -> str:
    """A note on a link that leads to another program than the browser, or ""."""
    scheme = urlsplit(link).scheme.lower() if ":" in link else ""
    if scheme in _OPENED_HERE:
        return ""
    return f"The link leads out of the browser, to {link[:MAX_CHARS]}; no page opens."

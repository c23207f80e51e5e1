"""HTML of the phone: small functions that return strings. A control has one name in the accessibility tree.

What opens outside of the page (menus, pickers, dialogs) is not used, since no screenshot shows it.
"""

from collections.abc import Iterable
from html import escape
from pathlib import Path
from urllib.parse import quote

STYLE = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
SCRIPT = (Path(__file__).parent / "touch.js").read_text(encoding="utf-8")


def page(app: str, title: str, main: str, actions: str = "") -> str:
    """A whole screen; `actions` stand in its bar."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(title)} - {escape(app)}</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<link rel="stylesheet" href="/_touch/style.css"><script src="/_touch/touch.js" defer></script></head>
<body class="{escape(app.lower())}"><header><h1>{escape(title)}</h1>{actions}</header>
<main>{main}</main></body></html>"""


def path(*parts: str) -> str:
    """`/contacts/Ada%20Velod`."""
    return "/" + "/".join(quote(part, safe="") for part in parts)


def text(content: str, style: str = "") -> str:
    return f'<p class="{style}">{escape(content)}</p>'


def heading(content: str) -> str:
    return f"<h2>{escape(content)}</h2>"


def link(name: str, href: str, style: str = "") -> str:
    return f'<a class="{style}" href="{escape(href)}">{escape(name)}</a>'


def row(name: str, href: str, note: str = "") -> str:
    """A line of a list that opens something; all of it can be tapped."""
    return f'<div class="row">{link(name, href)}{text(note, "note") if note else ""}</div>'


def rows(content: Iterable[str], empty: str) -> str:
    """A list, or what to say where it is empty."""
    return "".join(content) or text(empty, "empty")


def switch(name: str, is_on: bool, address: str) -> str:
    """A line with a switch that posts to `address`."""
    button = (
        f'<button role="switch" aria-checked="{str(is_on).lower()}" aria-label="{escape(name)}" '
        f'data-post="{escape(address)}"></button>'
    )
    return f'<div class="row switch"><span aria-hidden="true">{escape(name)}</span>{button}</div>'


def button(name: str, address: str, then: str = "") -> str:
    """A button that posts to `address`, and then shows where that leads or, with `then="back"`, what was shown
    before."""
    return form(address, "", name, then)


def form(address: str, content: str, name: str, then: str = "") -> str:
    return (
        f'<form action="{escape(address)}" method="post" data-then="{then}">{content}'
        f"<button>{escape(name)}</button></form>"
    )


def search(name: str, address: str, query: str = "") -> str:
    """A search field: ENTER submits it."""
    return f'<form class="search" role="search" action="{address}">{_field(name, "q", query)}</form>'


def field(name: str, key: str, value: str = "") -> str:
    """A one-line field with a visible label, and a button that empties it."""
    label = f'<span class="label" aria-hidden="true">{escape(name)}</span>'
    return f'<div class="field">{label}{_field(name, key, value)}</div>'


def _field(name: str, key: str, value: str) -> str:
    return (
        f'<div class="input"><input name="{key}" value="{escape(value)}" autocomplete="off" required '
        f'aria-label="{escape(name)}" placeholder="{escape(name)}">'
        f'<button type="button" class="clear" aria-label="Clear {escape(name)}">×</button></div>'
    )


def chips(label: str, key: str, options: Iterable[str], chosen: str) -> str:
    """One of several, as buttons beside each other; the chosen one is sent with the form."""
    made = "".join(
        f'<button type="button" role="radio" aria-checked="{str(option == chosen).lower()}" '
        f'aria-label="{escape(option)}" data-value="{escape(option)}">{escape(option)}</button>'
        for option in options
    )
    return (
        f'<div class="field"><span class="label">{escape(label)}</span>'
        f'<div class="chips" role="radiogroup" aria-label="{escape(label)}">{made}'
        f'<input type="hidden" name="{key}" value="{escape(chosen)}"></div></div>'
    )

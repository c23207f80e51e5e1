"""HTML of the embedded sites: small functions that return strings, one look for all sites.

Pages are made to be read as accessibility trees: a fact is one text node (`Weight: 3 kg`), a control has one name, and
what only the eye needs (labels beside named fields, pictures, badges) is hidden from the tree.
"""

import hashlib
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from urllib.parse import quote, urlencode

STYLE = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
SCRIPT = (Path(__file__).parent / "site.js").read_text(encoding="utf-8")


def document(site: str, brand: str, title: str, header: str, main: str) -> str:
    """A whole page; `site` chooses the colours."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(title)} - {escape(brand)}</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<link rel="stylesheet" href="/_static/style.css"><script src="/_static/site.js" defer></script></head>
<body class="{site}"><header><div class="bar">{header}</div></header>
<main>{main}</main></body></html>"""


def url(path: str, **query: object) -> str:
    """`path` (segments quoted) with a query string; None values are left out."""
    fields = {name: value for name, value in query.items() if value is not None}
    return quote(path) + (f"?{urlencode(fields)}" if fields else "")


def link(text: str, href: str, style: str = "") -> str:
    return f'<a class="{style}" href="{escape(href)}">{escape(text)}</a>'


def logo(brand: str) -> str:
    return link(brand, "/", "logo")


def search_box(name: str, action: str = "/search") -> str:
    """A search field; ENTER submits it."""
    field = f'<input type="search" name="q" autocomplete="off" aria-label="{name}" placeholder="{name}">'
    return f'<form class="search" role="search" action="{action}">{field}</form>'


def heading(text: str) -> str:
    return f"<h2>{escape(text)}</h2>"


def title(text: str) -> str:
    return f"<h1>{escape(text)}</h1>"


def text(content: str, style: str = "") -> str:
    return f'<p class="{style}">{escape(content)}</p>'


def facts(values: Mapping[str, str]) -> str:
    """One line per fact."""
    return "".join(text(f"{label}: {value}", "fact") for label, value in values.items())


def box(content: str, style: str) -> str:
    return f'<div class="{style}">{content}</div>'


def text_field(name: str, key: str, required: bool = True) -> str:
    """A one-line field with a visible label."""
    attributes = f'name="{key}" autocomplete="off" aria-label="{name}"{" required" if required else ""}'
    return f'<div class="field">{_label(name)}<input type="text" {attributes}></div>'


def text_area(name: str, key: str) -> str:
    field = f'<textarea name="{key}" rows="2" aria-label="{name}" required></textarea>'
    return f'<div class="field">{_label(name)}{field}</div>'


def select(
    name: str, key: str, options: Iterable[str], chosen: str = "", prompt: str = "", submits: bool = False
) -> str:
    """A drop-down. `prompt` is a first option that does not count as a choice; `submits` sends the form on change."""
    items = [f'<option value="">{escape(prompt)}</option>'] if prompt else []
    items += [f"<option{' selected' if item == chosen else ''}>{escape(item)}</option>" for item in options]
    attributes = f'name="{key}" aria-label="{name}" autocomplete="off"{" required" if prompt else ""}'
    attributes += ' onchange="this.form.submit()"' if submits else ""
    return f'<div class="field">{_label(name)}<select {attributes}>{"".join(items)}</select></div>'


def hidden(key: str, value: object) -> str:
    """A form field that nobody sees."""
    return f'<input type="hidden" name="{key}" value="{escape(str(value))}">'


def _label(name: str) -> str:
    return f'<span class="label" aria-hidden="true">{escape(name)}</span>'


def form(action: str, content: str, button: str = "", method: str = "post") -> str:
    submit = f"<button>{escape(button)}</button>" if button else ""
    return f'<form class="fields" action="{escape(action)}" method="{method}">{content}{submit}</form>'


def badge(content: object) -> str:
    """A small number for the eye."""
    return f'<span class="badge" aria-hidden="true">{content}</span>'


def late(address: str) -> str:
    """A place whose content is fetched after the page has loaded."""
    return f'<div class="late" data-late="{escape(address)}"><p class="loading">Loading</p></div>'


def picture(name: str, style: str = "picture") -> str:
    """A drawing that is always the same for the same name, hidden from the tree."""
    digest = hashlib.sha256(name.encode()).digest()
    hue, shapes = digest[0] * 360 // 256, []
    for index in range(4):
        x, y, size, turn = (digest[1 + 4 * index + part] for part in range(4))
        fill = f"hsl({(hue + 40 * index) % 360} 55% {45 + 8 * index}%)"
        place = f'transform="rotate({turn} 60 45)" fill="{fill}"'
        if size % 2:
            shapes.append(f'<circle cx="{30 + x % 60}" cy="{22 + y % 46}" r="{8 + size % 20}" {place}/>')
        else:
            shapes.append(
                f'<rect x="{20 + x % 50}" y="{15 + y % 30}" width="{18 + size % 36}" height="26" rx="5" {place}/>'
            )
    back = f'<rect width="120" height="90" fill="hsl({hue} 45% 91%)"/>'
    frame = 'viewBox="0 0 120 90" preserveAspectRatio="xMidYMid slice" aria-hidden="true"'
    return f'<svg class="{style}" {frame}>{back}{"".join(shapes)}</svg>'


def pager(page: int, num_pages: int, address: str, **query: object) -> str:
    """Where one is in a long list, and the way on."""
    if num_pages == 1:
        return ""
    parts = [text(f"Page {page} of {num_pages}")]
    if page > 1:
        parts.append(link("Previous page", url(address, **query, page=page - 1)))
    if page < num_pages:
        parts.append(link("Next page", url(address, **query, page=page + 1)))
    return box("".join(parts), "pager")

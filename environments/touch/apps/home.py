"""The home screen: the apps, on every phone in another order."""

from html import escape

from environments.sites.visits import Visit
from environments.touch import markup as m
from environments.touch.phone import Phone
from environments.touch.session import Show

COLORS = {
    "Settings": "#5c6370",
    "Clock": "#2e7d6b",
    "Contacts": "#3f63c9",
    "Notes": "#c98a1b",
    "Calendar": "#b3453f",
    "Mail": "#7a4fc0",
    "Shop": "#c1562d",
    "Browser": "#2779a7",
}


def screens() -> dict[str, Show]:
    return {"/": _home}


def _home(visit: Visit, phone: Phone) -> str:
    icons = [
        f'<a class="app" href="{m.path(name.lower())}" aria-label="{escape(name)}" data-letter="{name[0]}" '
        f'style="--color: {COLORS[name]}">{escape(name)}</a>'
        for name in visit.popular(COLORS)
    ]
    return m.page("Home", "Home screen", "".join(icons))

"""What a visitor of the gallery sees. The pictures are hidden from the tree, which tells titles and years only."""

import dataclasses

from starlette.responses import HTMLResponse, Response

from environments.sites import markup as m
from environments.sites.gallery.content import COLORS, MOST, Exhibit, Gallery
from environments.sites.visits import Handler, Visit, go_to

BRAND = "Easel"
WIDTH, HEIGHT = 300, 240  # of a picture, and of its coordinates


@dataclasses.dataclass
class State:
    """Looking changes nothing."""


class Pages:
    """The gallery's pages over its content."""

    def __init__(self, gallery: Gallery):
        self.gallery = gallery

    def pages(self) -> dict[str, Handler]:
        return {"/": self.home, "/search": self.search, "/room/{room}": self.room, "/exhibit/{title}": self.exhibit}

    def late(self) -> dict[str, Handler]:
        return {}

    def home(self, visit: Visit) -> str:
        welcome = m.title("Welcome") + m.text("Look for a room or an exhibit by its name.")
        return _page("Main hall", m.box(welcome, "hero"))

    def search(self, visit: Visit) -> str | Response:
        query = visit.fields.get("q", "").strip().lower()
        for names, path in ((self.gallery.exhibits, "exhibit"), (self.gallery.rooms, "room")):
            if name := next((name for name in names if name.lower() == query), None):
                return go_to(m.url(f"/{path}/{name}"))
        return _page("Search results", m.title("Search results") + m.text("Nothing found"))

    def room(self, visit: Visit) -> str | Response:
        room = visit.path["room"]
        if room not in self.gallery.rooms:
            return _missing()
        shown = [self.gallery.exhibits[title] for title in self.gallery.rooms[room]]
        cards = [m.box(_picture(exhibit) + _link(exhibit.title), "card") for exhibit in shown]
        return _page(room, m.title(room) + m.heading("Exhibits") + m.box("".join(cards), "grid"))

    def exhibit(self, visit: Visit) -> str | Response:
        exhibit = self.gallery.exhibits.get(visit.path["title"])
        if exhibit is None:
            return _missing()
        back = m.box(m.link(exhibit.room, m.url(f"/room/{exhibit.room}")), "crumb")
        about = m.box(m.facts({"Year": exhibit.year}), "about")
        return _page(exhibit.title, back + m.title(exhibit.title) + m.box(_picture(exhibit, "large") + about, "split"))


def _picture(exhibit: Exhibit, style: str = "picture") -> str:
    draw = {"shapes": _shape, "charts": _chart, "lamps": _lamp}[exhibit.kind]
    frame = f'viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="xMidYMid meet" aria-hidden="true"'
    return f'<svg class="{style}" {frame}>{draw(exhibit)}</svg>'


def _shape(exhibit: Exhibit) -> str:
    drawn = {
        "circle": '<circle cx="150" cy="120" r="90"',
        "square": '<rect x="65" y="35" width="170" height="170"',
        "triangle": '<polygon points="150,20 260,215 40,215"',
    }
    return f'{drawn[exhibit.shape]} fill="{COLORS[exhibit.color]}"/>'


def _chart(exhibit: Exhibit) -> str:
    unit = HEIGHT / (MOST + 1)
    bars = []
    for place, (color, value) in enumerate(exhibit.bars.items()):
        where = f'x="{20 + 70 * place}" y="{HEIGHT - unit * value}" width="50" height="{unit * value}"'
        bars.append(f'<rect {where} fill="{COLORS[color]}"/>')
    return "".join(bars)


def _lamp(exhibit: Exhibit) -> str:
    light = COLORS["yellow"] if exhibit.lit else "#777"
    return f'<circle cx="150" cy="95" r="75" fill="{light}"/><rect x="125" y="175" width="50" height="45" fill="#444"/>'


def _link(title: str) -> str:
    return m.link(title, m.url(f"/exhibit/{title}"))


def _page(title: str, main: str) -> str:
    return m.document("gallery", BRAND, title, m.logo(BRAND) + m.search_box("Search the gallery"), main)


def _missing() -> Response:
    return HTMLResponse(_page("Not found", m.text("There is no such exhibit")), 404)

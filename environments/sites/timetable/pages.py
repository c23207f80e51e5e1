"""What a traveller sees and does."""

import dataclasses

from starlette.responses import HTMLResponse, Response

from environments.sites import markup as m
from environments.sites.timetable.content import CLASSES, Timetable, Train
from environments.sites.visits import Handler, Visit, go_to, matches
from environments.sites.words import FILLER

BRAND = "Railhead"


@dataclasses.dataclass
class Booking:
    train: str
    passenger: str
    travel_class: str


@dataclasses.dataclass
class State:
    """What a session has done."""

    bookings: list[Booking] = dataclasses.field(default_factory=list)


class Pages:
    """The timetable's pages over its content."""

    def __init__(self, timetable: Timetable):
        self.timetable = timetable

    def pages(self) -> dict[str, Handler]:
        return {
            "/": self.home,
            "/journeys": self.journeys,
            "/live": self.live,
            "/train/{train}": self.train,
            "/train/{train}/book": self.book,
            "/bookings": self.bookings,
        }

    def late(self) -> dict[str, Handler]:
        return {"/late/journeys": self.connections}

    def home(self, visit: Visit) -> str:
        planner = m.box(m.title("Plan your journey") + _planner(), "planner")
        news = m.heading("News") + m.text("Engineering works on Sunday night: please allow more time.")
        offers = m.heading("Offers") + m.text("Children below 6 years travel free in every train.")
        return _page("Journeys", planner + news + offers)

    def journeys(self, visit: Visit) -> str:
        fields = {key: visit.fields.get(key, "") for key in ("origin", "destination")}
        main = m.title("Trains on this journey") + m.late(m.url("/late/journeys", **fields))
        return _page("Timetable", main + m.link("New journey", "/"))

    def connections(self, visit: Visit) -> str:
        asked = tuple(visit.fields.get(key, "").strip().lower() for key in ("origin", "destination"))
        for (origin, destination), trains in self.timetable.connections.items():
            if (origin.lower(), destination.lower()) == asked:
                return "".join(map(_connection, trains))
        return m.text("No trains found")

    def live(self, visit: Visit) -> str | Response:
        query = visit.fields.get("q", "")
        found = matches(query, self.timetable.trains)
        if len(found) == 1:
            return go_to(m.url(f"/train/{found[0]}"))
        shown = [self.timetable.trains[name] for name in found] if query else self.timetable.of(FILLER)
        board = m.heading("Departures") + "".join(map(_connection, shown[:6])) if shown else m.text("No trains found")
        return _page("Live trains", m.title("Live trains") + board)

    def train(self, visit: Visit) -> str | Response:
        train = self.timetable.trains.get(visit.path["train"])
        if train is None:
            return _missing()
        facts = {
            "Origin": train.origin,
            "Destination": train.destination,
            "Departs": train.departure,
            "Arrives": train.arrival,
            "Platform": str(train.platform),
        }
        book = m.link("Book a seat", m.url(f"/train/{train.name}/book"))
        return _page(train.name, m.title(train.name) + m.box(m.facts(facts) + book, "planner"))

    def book(self, visit: Visit) -> str | Response:
        train = self.timetable.trains.get(visit.path["train"])
        if train is None:
            return _missing()
        passenger, travel_class = visit.fields.get("passenger", "").strip(), visit.fields.get("travel_class", "")
        if passenger and travel_class in CLASSES:
            visit.state.bookings.append(Booking(train.name, passenger, travel_class))
            return go_to("/bookings?done=1")
        fields = m.text_field("Passenger", "passenger")
        fields += m.select("Class", "travel_class", CLASSES, prompt="Choose a class")
        form = m.form(m.url(f"/train/{train.name}/book"), fields, "Confirm booking")
        return _page("Book a seat", m.box(m.title("Book a seat") + m.text(_route(train)) + form, "planner"))

    def bookings(self, visit: Visit) -> str:
        notice = m.text("Seat booked", "notice") if "done" in visit.fields else ""
        rows = []
        for booking in visit.state.bookings:
            about = m.text(_route(self.timetable.trains[booking.train]))
            about += m.text(f"{booking.passenger}, {booking.travel_class} class")
            rows.append(m.box(about, "connection"))
        return _page("My bookings", notice + m.title("My bookings") + ("".join(rows) or m.text("No bookings yet")))


def _planner() -> str:
    fields = m.text_field("From", "origin") + m.text_field("To", "destination")
    return m.form("/journeys", fields, "Find trains", method="get")


def _route(train: Train) -> str:
    return f"{train.name}: {train.origin} to {train.destination} at {train.departure}"


def _connection(train: Train) -> str:
    times = m.text(f"Departs: {train.departure}") + m.text(f"Arrives: {train.arrival}")
    return m.box(m.link(train.name, m.url(f"/train/{train.name}")) + times, "connection")


def _page(title: str, main: str) -> str:
    links = m.link("Journeys", "/") + m.link("Live trains", "/live") + m.link("My bookings", "/bookings")
    return m.document(
        "timetable", BRAND, title, m.logo(BRAND) + f"<nav>{links}</nav>{m.search_box('Train number', '/live')}", main
    )


def _missing() -> Response:
    return HTMLResponse(_page("Not found", m.text("There is no such train")), 404)

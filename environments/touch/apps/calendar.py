"""Calendar: the events of a week, day by day."""

from starlette.responses import Response

from environments.sites.visits import Visit, go_to
from environments.touch import markup as m
from environments.touch.phone import DAYS, HOURS, Event, Phone
from environments.touch.session import Show, replaced

NAME = "Calendar"
NEW_TIMES = tuple(f"{hour}:00" for hour in HOURS[7:22])


def screens() -> dict[str, Show]:
    return {
        "/calendar": _week,
        "/calendar/new": _new,
        "/calendar/save": _save,
        "/calendar/event/{title}": _event,
        "/calendar/move/{title}": _move,
        "/calendar/delete/{title}": _delete,
    }


def _week(visit: Visit, phone: Phone) -> str:
    main = ""
    for day in DAYS:
        events = sorted((event.time, title) for title, event in phone.events.items() if event.day == day)
        lines = [m.row(title, m.path("calendar", "event", title), f"at {time}") for time, title in events]
        main += m.heading(day) + "".join(lines) if lines else ""
    return m.page(NAME, "This week", main or m.text("No events", "empty"), m.link("New event", "/calendar/new"))


def _new(visit: Visit, phone: Phone) -> str:
    fields = (
        m.field("Title", "title")
        + m.chips("Day", "day", DAYS, DAYS[0])
        + m.chips("Time", "time", NEW_TIMES, NEW_TIMES[0])
    )
    return m.page(NAME, "New event", m.form("/calendar/save", fields, "Save event"))


def _save(visit: Visit, phone: Phone) -> Response:
    title, day, time = (visit.fields.get(key, "").strip() for key in ("title", "day", "time"))
    if title and day in DAYS and time in NEW_TIMES:
        phone.events[title] = Event(day, time)
    return go_to("/calendar")


def _event(visit: Visit, phone: Phone) -> str | Response:
    title = visit.path["title"]
    if title not in phone.events:
        return go_to("/calendar")
    event = phone.events[title]
    move = m.form(m.path("calendar", "move", title), m.chips("Day", "day", DAYS, event.day), "Save day", "back")
    delete = m.button("Delete event", m.path("calendar", "delete", title), "back")
    return m.page(NAME, title, m.text(f"When: {event.day}, {event.time}") + move + delete)


def _move(visit: Visit, phone: Phone) -> Response:
    if visit.fields.get("day") in DAYS:
        replaced(phone.events, visit.path["title"], day=visit.fields["day"])
    return go_to("/calendar")


def _delete(visit: Visit, phone: Phone) -> Response:
    phone.events.pop(visit.path["title"], None)
    return go_to("/calendar")

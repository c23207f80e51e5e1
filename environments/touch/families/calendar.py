"""What may be asked of the calendar."""

from environments.touch.apps.calendar import NEW_TIMES
from environments.touch.expert.rules import Rule, choose, fill, in_app, look_for, on, stages, tap, tapped, tell
from environments.touch.families.family import Family, Slots, Source
from environments.touch.families.notes import new_title
from environments.touch.phone import DAYS, Event, Phone
from environments.touch.session import replaced


def _draw(source: Source) -> Slots:
    return {"title": source.rng.choice(list(source.phone.events))}


def _draw_day(source: Source) -> Slots:
    title, event = source.rng.choice(list(source.phone.events.items()))
    return {"title": title, "day": source.rng.choice([day for day in DAYS if day != event.day])}


def _draw_new(source: Source) -> Slots:
    return {"title": new_title(source), "day": source.rng.choice(DAYS), "time": source.rng.choice(NEW_TIMES)}


def _add(phone: Phone, slots: Slots) -> None:
    phone.events[slots["title"]] = Event(slots["day"], slots["time"])


def find(title: str, *rules: Rule) -> Rule:
    """`rules` where the event is shown."""
    return in_app("Calendar", on(title, *rules), on("This week", look_for(title)))


def _save(title: str, day: str, time: str) -> Rule:
    form = on("New event", fill("Title", title), choose(day), choose(time), tap("Save event"))
    return stages((tapped("Save event"), in_app("Calendar", form, on("This week", tap("New event")))))


FAMILIES = (
    Family(
        "calendar-when",
        1,
        ('On which day and at what time is "{title}" in my calendar?', 'Tell day and time of the event "{title}".'),
        _draw,
        lambda title: find(title, tell("When")),
        say=lambda phone, slots: "{0.day}, {0.time}".format(phone.events[slots["title"]]),
    ),
    Family(
        "calendar-delete",
        1,
        ('Delete the event "{title}" from my calendar.', 'Cancel "{title}": take it out of the calendar.'),
        _draw,
        lambda title: stages((tapped("Delete event"), find(title, tap("Delete event")))),
        do=lambda phone, slots: phone.events.pop(slots["title"]),
    ),
    Family(
        "calendar-move",
        2,
        ('Move the event "{title}" to "{day}".', 'The event "{title}" is on "{day}" now: change my calendar.'),
        _draw_day,
        lambda title, day: stages((tapped("Save day"), find(title, choose(day), tap("Save day")))),
        do=lambda phone, slots: replaced(phone.events, slots["title"], day=slots["day"]),
    ),
    Family(
        "calendar-add",
        2,
        ('Add "{title}" to my calendar, on "{day}" at "{time}".', 'Plan "{title}" for "{day}", "{time}".'),
        _draw_new,
        _save,
        do=_add,
    ),
)

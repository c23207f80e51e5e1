"""What may be asked of the clock."""

from environments.touch.expert.rules import Rule, choose, in_app, on, stages, tap, tapped
from environments.touch.families.family import Family, Slots, Source
from environments.touch.phone import OFF, ON, TIMES, Phone


def _draw(source: Source) -> Slots:
    time = source.rng.choice(list(source.phone.alarms))
    return {"time": time, "state": OFF if source.phone.alarms[time] == ON else ON}


def _draw_old(source: Source) -> Slots:
    return {"time": source.rng.choice(list(source.phone.alarms))}


def _draw_new(source: Source) -> Slots:
    return {"time": source.rng.choice([time for time in TIMES if time not in source.phone.alarms])}


def _draw_instead(source: Source) -> Slots:
    return {"old": _draw_old(source)["time"], **_draw_new(source)}


def _set(phone: Phone, slots: Slots) -> None:
    phone.alarms[slots["time"]] = slots.get("state", ON)
    phone.alarms.pop(slots.get("old", ""), None)


def _delete(phone: Phone, slots: Slots) -> None:
    del phone.alarms[slots["time"]]


def _delete_at(time: str) -> tuple[str, Rule]:
    name = f"Alarm {time}"
    return tapped("Delete alarm"), in_app("Clock", on(name, tap("Delete alarm")), on("Alarms", tap(name)))


def add(time: str) -> tuple[str, Rule]:
    """Set an alarm: what is said at its last tap, and the rule."""
    hour, minute = time.split(":")
    new = on("New alarm", choose(hour), choose(f":{minute}"), tap("Save alarm"))
    return tapped("Save alarm"), in_app("Clock", new, on("Alarms", tap("New alarm")))


FAMILIES = (
    Family(
        "clock-switch",
        1,
        ('Turn "{state}" the alarm at "{time}".', 'Switch my alarm of "{time}" "{state}".'),
        _draw,
        lambda time, state: stages((tapped(f"{time} on"), in_app("Clock", on("Alarms", tap(f"{time} on"))))),
        do=_set,
    ),
    Family(
        "clock-delete",
        1,
        ('Delete the alarm at "{time}".', 'I need no alarm at "{time}" any more: remove it.'),
        _draw_old,
        lambda time: stages(_delete_at(time)),
        do=_delete,
    ),
    Family(
        "clock-add",
        2,
        ('Set an alarm for "{time}".', 'Wake me at "{time}": add an alarm.'),
        _draw_new,
        lambda time: stages(add(time)),
        do=_set,
    ),
    Family(
        "clock-instead",
        3,
        ('Delete the alarm at "{old}" and set one for "{time}" instead.',),
        _draw_instead,
        lambda old, time: stages(_delete_at(old), add(time)),
        do=_set,
    ),
)

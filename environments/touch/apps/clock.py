"""Clock: alarms, each with a switch."""

from starlette.responses import Response

from environments.sites.visits import Visit, go_to
from environments.touch import markup as m
from environments.touch.phone import HOURS, MINUTES, OFF, ON, Phone
from environments.touch.session import Show

NAME = "Clock"


def screens() -> dict[str, Show]:
    return {
        "/clock": _alarms,
        "/clock/new": _new,
        "/clock/save": _save,
        "/clock/alarm/{time}": _alarm,
        "/clock/switch/{time}": _switch,
        "/clock/delete/{time}": _delete,
    }


def _alarms(visit: Visit, phone: Phone) -> str:
    lines = [
        m.row(f"Alarm {time}", m.path("clock", "alarm", time))
        + m.switch(f"{time} on", state == ON, m.path("clock", "switch", time))
        for time, state in sorted(phone.alarms.items())
    ]
    return m.page(NAME, "Alarms", m.rows(lines, "No alarms"), m.link("New alarm", "/clock/new"))


def _new(visit: Visit, phone: Phone) -> str:
    fields = m.chips("Hour", "hour", HOURS, HOURS[0]) + m.chips(
        "Minute", "minute", [f":{one}" for one in MINUTES], ":00"
    )
    return m.page(NAME, "New alarm", m.form("/clock/save", fields, "Save alarm"))


def _save(visit: Visit, phone: Phone) -> Response:
    hour, minute = visit.fields.get("hour", ""), visit.fields.get("minute", "").removeprefix(":")
    if hour in HOURS and minute in MINUTES:
        phone.alarms[f"{hour}:{minute}"] = ON
    return go_to("/clock")


def _alarm(visit: Visit, phone: Phone) -> str | Response:
    time = visit.path["time"]
    if time not in phone.alarms:
        return go_to("/clock")
    return m.page(NAME, f"Alarm {time}", m.button("Delete alarm", m.path("clock", "delete", time), "back"))


def _switch(visit: Visit, phone: Phone) -> Response:
    if visit.path["time"] in phone.alarms:
        phone.alarms[visit.path["time"]] = ON if visit.fields.get("on") == "true" else OFF
    return go_to("/clock")


def _delete(visit: Visit, phone: Phone) -> Response:
    phone.alarms.pop(visit.path["time"], None)
    return go_to("/clock")

"""Settings: sections of switches, and lists of which one is chosen."""

from starlette.responses import Response

from environments.sites.visits import Visit, go_to
from environments.touch import markup as m
from environments.touch.phone import CHOICES, OFF, ON, SWITCHES, Phone
from environments.touch.session import Show

NAME = "Settings"


def screens() -> dict[str, Show]:
    return {
        "/settings": _sections,
        "/settings/section/{section}": _section,
        "/settings/choice/{setting}": _choice,
        "/settings/switch/{setting}": _switch,
        "/settings/choose/{setting}/{value}": _choose,
    }


def _sections(visit: Visit, phone: Phone) -> str:
    lines = [m.row(section, m.path("settings", "section", section)) for section in SWITCHES]
    return m.page(NAME, NAME, "".join(lines))


def _section(visit: Visit, phone: Phone) -> str | Response:
    section = visit.path["section"]
    if section not in SWITCHES:
        return go_to("/settings")
    lines = [
        m.switch(name, phone.settings[name] == ON, m.path("settings", "switch", name)) for name in SWITCHES[section]
    ]
    lines += [
        m.row(name, m.path("settings", "choice", name), f"{name}: {phone.settings[name]}")
        for name, (place, _) in CHOICES.items()
        if place == section
    ]
    return m.page(NAME, section, "".join(lines))


def _choice(visit: Visit, phone: Phone) -> str | Response:
    setting = visit.path["setting"]
    if setting not in CHOICES:
        return go_to("/settings")
    now = m.text(f"Now: {phone.settings[setting]}")
    options = [m.button(value, m.path("settings", "choose", setting, value), "back") for value in CHOICES[setting][1]]
    return m.page(NAME, setting, now + "".join(options))


def _switch(visit: Visit, phone: Phone) -> Response:
    setting = visit.path["setting"]
    if any(setting in names for names in SWITCHES.values()):
        phone.settings[setting] = ON if visit.fields.get("on") == "true" else OFF
    return go_to("/settings")


def _choose(visit: Visit, phone: Phone) -> Response:
    setting, value = visit.path["setting"], visit.path["value"]
    if setting in CHOICES and value in CHOICES[setting][1]:
        phone.settings[setting] = value
    return go_to("/settings")

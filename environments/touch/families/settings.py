"""What may be asked of the settings."""

from environments.touch.expert.rules import Rule, in_app, on, stages, tap, tapped, tell
from environments.touch.families.family import Family, Slots, Source
from environments.touch.phone import CHOICES, OFF, ON, SWITCHES, Phone

_SECTION = {
    **{name: section for section, names in SWITCHES.items() for name in names},
    **{name: section for name, (section, _) in CHOICES.items()},
}


def _draw_switch(source: Source) -> Slots:
    name = source.rng.choice([name for names in SWITCHES.values() for name in names])
    return {"switch": name, "state": OFF if source.phone.settings[name] == ON else ON}


def _draw_choice(source: Source) -> Slots:
    name, (_, options) = source.rng.choice(list(CHOICES.items()))
    return {"setting": name, "value": source.rng.choice([one for one in options if one != source.phone.settings[name]])}


def _draw_two(source: Source) -> Slots:
    return _draw_switch(source) | _draw_choice(source)


def _set(phone: Phone, slots: Slots) -> None:
    if "switch" in slots:
        phone.settings[slots["switch"]] = slots["state"]
    if "setting" in slots:
        phone.settings[slots["setting"]] = slots["value"]


def _to(name: str, *rules: Rule) -> Rule:
    section = _SECTION[name]
    return in_app("Settings", *rules, on(section, tap(name)), on("Settings", tap(section)))


def _switch(switch: str, state: str) -> Rule:
    return stages((tapped(switch), _to(switch)))


def _choose(setting: str, value: str) -> Rule:
    return stages((tapped(value), _to(setting, on(setting, tap(value)))))


def _two(switch: str, state: str, setting: str, value: str) -> Rule:
    return stages((tapped(switch), _to(switch)), (tapped(value), _to(setting, on(setting, tap(value)))))


def _read(setting: str) -> Rule:
    return _to(setting, on(_SECTION[setting], tell(setting)))


FAMILIES = (
    Family(
        "settings-switch",
        1,
        ('Turn "{switch}" "{state}" in the settings.', 'In the settings, switch "{switch}" "{state}".'),
        _draw_switch,
        _switch,
        do=_set,
    ),
    Family(
        "settings-read",
        1,
        ('Tell what "{setting}" is set to.', 'Look in the settings what "{setting}" is, and say it.'),
        lambda source: {"setting": source.rng.choice(list(CHOICES))},
        _read,
        say=lambda phone, slots: phone.settings[slots["setting"]],
    ),
    Family(
        "settings-choice",
        2,
        ('Set "{setting}" to "{value}".', 'Change "{setting}" in the settings to "{value}".'),
        _draw_choice,
        _choose,
        do=_set,
    ),
    Family(
        "settings-two",
        3,
        ('Turn "{switch}" "{state}", and set "{setting}" to "{value}".',),
        _draw_two,
        _two,
        do=_set,
    ),
)

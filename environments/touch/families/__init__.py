"""The families of tasks, a file an app; `FAMILIES` has all of them by name."""

from environments.touch.families import browser, calendar, clock, contacts, mail, notes, settings, shop, two_apps
from environments.touch.families.family import Family

_FILES = (settings, clock, contacts, notes, calendar, mail, shop, browser, two_apps)
FAMILIES: dict[str, Family] = {family.name: family for module in _FILES for family in module.FAMILIES}

"""What a phone holds, drawn from a seed, and what has changed on it since: the ground truth of tasks looks at that."""

import dataclasses
import functools
import random
from typing import Any

from environments.sites.content import Content
from environments.sites.content import build as build_web
from environments.sites.words import Words

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
ON, OFF = "on", "off"
SWITCHES = {
    "Network": ("Wi-Fi", "Bluetooth", "Mobile data", "Airplane mode", "Hotspot", "Data saver"),
    "Display": ("Dark theme", "Auto-rotate", "Adaptive brightness", "Night light", "Tap to wake"),
    "Sound": ("Vibrate", "Do not disturb", "Touch sounds", "Charging sounds", "Dial tones"),
    "Privacy": ("Location", "Camera access", "Microphone access", "Show passwords", "Backup"),
}
CHOICES = {
    "Preferred network": ("Network", ("5G", "4G", "3G", "2G")),
    "Font size": ("Display", ("Small", "Default", "Large", "Largest")),
    "Screen timeout": ("Display", ("15 seconds", "30 seconds", "1 minute", "5 minutes", "10 minutes", "30 minutes")),
    "Ringtone": ("Sound", ("Aurora", "Beacon", "Chimes", "Drizzle", "Ember", "Fanfare", "Glade", "Harp")),
    "Lock screen": ("Privacy", ("None", "Pattern", "PIN", "Password")),
}
NUM_CONTACTS, NUM_NOTES, NUM_EVENTS, NUM_MAILS, NUM_ALARMS = 18, 9, 10, 12, 6


@dataclasses.dataclass(frozen=True)
class Contact:
    phone: str
    email: str
    starred: bool = False


@dataclasses.dataclass(frozen=True)
class Event:
    day: str
    time: str


@dataclasses.dataclass(frozen=True)
class Mail:
    """`folder` is `Inbox`, `Archive` or `Trash`."""

    sender: str
    text: str
    folder: str = "Inbox"
    starred: bool = False


@dataclasses.dataclass(frozen=True)
class Sent:
    to: str
    text: str


@dataclasses.dataclass(frozen=True)
class CartLine:
    colour: str
    quantity: int


@dataclasses.dataclass
class Phone:
    """By app what it keeps by name: settings, alarms (by time, whether on), contacts, notes (by title, their text),
    events, received and sent mails (by subject), and the shop's cart."""

    settings: dict[str, str]
    alarms: dict[str, str]
    contacts: dict[str, Contact]
    notes: dict[str, str]
    events: dict[str, Event]
    mails: dict[str, Mail]
    sent: dict[str, Sent] = dataclasses.field(default_factory=dict)
    cart: dict[str, CartLine] = dataclasses.field(default_factory=dict)

    def copy(self) -> "Phone":
        """One that can be changed by itself; what it keeps is frozen."""
        kept = {field.name: dict(getattr(self, field.name)) for field in dataclasses.fields(self)}
        return Phone(**kept)


@functools.cache
def web() -> Content:
    """What the phone's shop sells and its browser finds: the embedded websites' content, the same on every phone."""
    return build_web(0)


def build(seed: int) -> Phone:
    """The same phone for the same seed; its names are not those of the embedded websites, which have seed 0."""
    words, rng = Words(seed + 1), random.Random(f"elcano phone {seed}")
    people = [words.person() for _ in range(NUM_CONTACTS)]
    titles = [f"{words.made_up()} {words.noun()}" for _ in range(NUM_NOTES + NUM_EVENTS + NUM_MAILS)]
    notes, events, mails = titles[:NUM_NOTES], titles[NUM_NOTES : NUM_NOTES + NUM_EVENTS], titles[-NUM_MAILS:]
    return Phone(
        settings=_settings(rng),
        alarms={time: rng.choice((ON, OFF)) for time in rng.sample(TIMES, NUM_ALARMS)},
        contacts={name: Contact(number(rng), address(name), rng.random() < 0.3) for name in people},
        notes={title: f"The code is {rng.randrange(1000, 10_000)}" for title in notes},
        events={title: Event(rng.choice(DAYS), rng.choice(TIMES)) for title in events},
        mails={
            subject: Mail(rng.choice(people), f"The code is {rng.randrange(1000, 10_000)}", starred=rng.random() < 0.3)
            for subject in mails
        },
    )


HOURS = tuple(f"{hour:02d}" for hour in range(24))
MINUTES = tuple(f"{minute:02d}" for minute in range(0, 60, 5))
TIMES = tuple(f"{hour}:{minute}" for hour in HOURS[5:23] for minute in MINUTES)


def number(rng: random.Random) -> str:
    """A phone number that nobody has."""
    return f"0155 {rng.randrange(10_000, 100_000)}"


def address(person: str) -> str:
    """The mail address of a person."""
    return f"{person.lower().replace(' ', '.')}@post.example"


def changes(before: Phone, after: Phone) -> list[dict[str, Any]]:
    """What differs: by app and name what is there now, None where it is gone."""
    found = []
    for field in dataclasses.fields(Phone):
        was, now = getattr(before, field.name), getattr(after, field.name)
        for name in dict.fromkeys([*was, *now]):
            if was.get(name) != now.get(name):
                found.append({"app": field.name, "what": name, "now": _plain(now.get(name))})
    return found


def _settings(rng: random.Random) -> dict[str, str]:
    switches = {name: rng.choice((ON, OFF)) for names in SWITCHES.values() for name in names}
    return switches | {name: rng.choice(options) for name, (_, options) in CHOICES.items()}


def _plain(kept: Any) -> Any:
    return dataclasses.asdict(kept) if dataclasses.is_dataclass(kept) and not isinstance(kept, type) else kept

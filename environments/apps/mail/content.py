"""What our mailbox holds: the mail of a made-up library on wheels, drawn from a seed."""

import dataclasses
import random

AGENT, ADDRESS = "Ana Lund", "ana@bookbus.example"
IDENTITIES = {AGENT: ADDRESS, "Bookbus Desk": "desk@bookbus.example"}
"""Under which the agent writes, the usual one first."""
PEOPLE = {
    "Bo Ferrer": "bo@bookbus.example",
    "Chen Ilves": "chen@bookbus.example",
    "Dora Quist": "dora@paperworks.example",
    "Emil Sandoval": "emil@garage.example",
    "Farah Nieminen": "farah@school.example",
    "Gus Marchetti": "gus@print.example",
    "Hanne Oduya": "hanne@school.example",
    "Ivo Brandt": "ivo@garage.example",
}
GROUPS = {
    "Crew": ("Bo Ferrer", "Chen Ilves"),
    "School": ("Farah Nieminen", "Hanne Oduya"),
    "Garage": ("Emil Sandoval", "Ivo Brandt"),
    "Paper": ("Dora Quist", "Gus Marchetti"),
    "Thursdays": ("Bo Ferrer", "Hanne Oduya"),
}
FOLDERS = ("Events", "Repairs", "Suppliers")
"""The agent's own."""
_PLACES = (
    "Alder Lane",
    "Brick Square",
    "Cooper Hill",
    "Dove Bridge",
    "Elm Court",
    "Fisher Quay",
    "Gate House",
    "Hay Yard",
)
_SUBJECTS = {
    "INBOX": ("New stop at {}", "Keys for {}", "Complaint from {}", "Timetable of {}", "Returned books at {}"),
    "Events": ("Reading night at {}", "Puppet show at {}", "Book swap at {}"),
    "Repairs": ("Broken step at {}", "Lamp is out at {}", "Flat tire near {}"),
    "Suppliers": ("Shelves for {}", "Posters for {}", "Crates of paper for {}"),
}
_NUMBERS = {"INBOX": 16, "Events": 7, "Repairs": 7, "Suppliers": 7}
_FACTS = (
    "It will cost {} euros, all included.",
    "Please set aside {} euros for it.",
    "The price that they gave me is {} euros.",
)
_OPENINGS = (
    "As promised, here is what I found out.",
    "You asked me to look into this.",
    "I was there on Monday and talked to the neighbors.",
    "This came up again yesterday.",
    "Before I forget it, a short note.",
)
_CLOSINGS = (
    "Tell me what you think.",
    "There is no hurry.",
    "We can talk about it on Thursday.",
    "Thank you for your help.",
)
_FILES = ("plan", "photo", "offer", "list", "sketch")
_SENT = ("Thanks for the visit", "Minutes of Thursday", "Fuel card")
_JUNK = ("You have been chosen", "Cheap ink forever")
_TRASH = ("Old timetable", "Lunch on Tuesday")


@dataclasses.dataclass(frozen=True)
class Mail:
    """In a folder, by the order in which it came there, from 1, which is also its number in Dovecot (its UID)."""

    folder: str
    number: int
    sender: str
    recipient: str
    subject: str
    text: str
    day: int
    seen: bool
    flagged: bool = False
    file: str = ""

    @property
    def id(self) -> str:
        """Of its own, by which it is known wherever it lies."""
        return f"<{self.number}.{self.folder.lower()}@bookbus.example>"


@dataclasses.dataclass(frozen=True)
class Content:
    """Mails in the order of their folders; a telephone number of each contact."""

    mails: list[Mail]
    telephones: dict[str, str]


def make(seed: int = 0) -> Content:
    """The same for the same seed."""
    rng = random.Random(f"mail {seed}")
    mails = [mail for folder in _SUBJECTS for mail in _folder(rng, folder)]
    for number, subject in enumerate(_SENT, start=1):
        person = rng.choice(sorted(PEOPLE))
        mails.append(Mail("Sent", number, AGENT, person, subject, rng.choice(_CLOSINGS), number * 9, True))
    for folder, subjects in {"Junk": _JUNK, "Trash": _TRASH}.items():
        for number, subject in enumerate(subjects, start=1):
            person = rng.choice(sorted(PEOPLE))
            mails.append(Mail(folder, number, person, AGENT, subject, rng.choice(_CLOSINGS), number * 7, True))
    telephones = {name: f"0{rng.randint(20, 89)} {rng.randint(100000, 999999)}" for name in PEOPLE}
    return Content(mails, telephones)


def _folder(rng: random.Random, folder: str) -> list[Mail]:
    """The newest last."""
    subjects = rng.sample([words.format(place) for words in _SUBJECTS[folder] for place in _PLACES], _NUMBERS[folder])
    days = sorted(rng.sample(range(60), len(subjects)))
    mails = []
    for number, (subject, day) in enumerate(zip(subjects, days, strict=True), start=1):
        fact = rng.choice(_FACTS).format(rng.randint(21, 989))
        text = f"{rng.choice(_OPENINGS)}\n{fact}\n{rng.choice(_CLOSINGS)}"
        file = f"{rng.choice(_FILES)}-{rng.randint(10, 99)}.txt" if rng.random() < 0.35 else ""
        seen, flagged = rng.random() < 0.7, rng.random() < 0.25
        sender = rng.choice(sorted(PEOPLE))
        mails.append(Mail(folder, number, sender, AGENT, subject, text, day, seen, flagged, file))
    return mails

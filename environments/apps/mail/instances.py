"""Instances of the templates: about which mail, contact or folder, and what must be there afterwards."""

import random
import re

from environments.apps.application import Record
from environments.apps.mail.content import ADDRESS, FOLDERS, PEOPLE
from environments.apps.templates import Instance, State, cannot, edits, leaves, says, shows

_TEXTS = (
    "I will bring the keys tomorrow.",
    "Thursday at ten suits me well.",
    "Please wait until I have asked the others.",
    "That is more than we can pay.",
    "Yes, let us do it like this.",
)
_NEW_SUBJECTS = ("Spare tires", "A visit in February", "Stickers for the bus", "Opening hours", "Rain coats")
_NEW_FOLDERS = ("Ideas", "Invoices", "Readers", "Winter tour", "Volunteers", "Old stops")
_NEW_NAMES = ("Jonas Adler", "Kira Benson", "Leo Castell", "Mina Dahl", "Nora Egger", "Otto Falk")
_HOSTS = ("garden.example", "market.example", "museum.example")
_ORGANIZATIONS = (
    "Bookbus",
    "Library on Wheels",
    "Friends of the Bookbus",
    "Reading Circle North",
    "County Library",
    "The Crew",
)


def mails(state: State, folder: str = "INBOX") -> list[Record]:
    return [one for one in state.of("mail") if one["folder"] == folder]


def _one(state: State, rng: random.Random, **known: str) -> Record:
    """A mail of the inbox with these values."""
    found = [one for one in mails(state) if all(one[name] == value for name, value in known.items())]
    return rng.choice(sorted(found, key=lambda one: one["id"]))


def _name(address: str) -> str:
    return next(name for name, known in PEOPLE.items() if known == address)


def _euros(mail: Record) -> str:
    [found] = re.findall(r"(\d+) euros", mail["text"])
    return found


def sender(state: State, rng: random.Random) -> Instance:
    mail = _one(state, rng)
    return Instance({"subject": mail["subject"]}, says(_name(mail["from"]), tuple(PEOPLE)))


def price(state: State, rng: random.Random) -> Instance:
    mail = _one(state, rng)
    others = tuple(
        _euros(one) for one in mails(state) if _euros(mail) not in _euros(one) and _euros(one) not in _euros(mail)
    )
    return Instance({"subject": mail["subject"]}, says(_euros(mail), others))


def telephone(state: State, rng: random.Random) -> Instance:
    numbers = {one["name"]: one["telephone"] for one in state.of("contact")}
    person = rng.choice(sorted(numbers))
    return Instance({"person": person}, says(numbers[person], tuple(numbers.values())))


def attachment(state: State, rng: random.Random) -> Instance:
    held = [one for one in mails(state) if one["files"]]
    mail = rng.choice(sorted(held, key=lambda one: one["id"]))
    return Instance({"subject": mail["subject"]}, says(mail["files"], tuple(one["files"] for one in held)))


def open_folder(state: State, rng: random.Random) -> Instance:
    folder = rng.choice((*FOLDERS, "Sent", "Drafts", "Trash", "Junk"))
    return Instance({"folder": folder}, shows(f"/{folder}"))


def open_group(state: State, rng: random.Random) -> Instance:
    names = [one["name"] for one in state.of("group")]
    name = rng.choice(names)
    return Instance({"group": name}, shows(f"/addressbook/{names.index(name) + 1}"))


def _composed(to: str, subject: str, text: str, folder: str = "Sent", **more: str) -> Record:
    marks = dict.fromkeys(("flagged", "answered", "forwarded"), "no")
    empty = dict.fromkeys(("cc", "bcc", "answers", "files"), "")
    about = {"kind": "mail", "folder": folder, "id": "new", "from": ADDRESS, "to": to, "subject": subject, "text": text}
    return {**about, **empty, "seen": "yes", **marks, **more}


def _sent(to: str, subject: str, text: str, **more: str) -> list[Record]:
    """It lies among what was sent, and it was sent."""
    gone = {"kind": "sent", "to": to, "subject": subject, "text": text, "answers": "", "files": ""}
    return [gone | more, _composed(to, subject, text, **more)]


def _new_mail(rng: random.Random) -> dict[str, str]:
    address = rng.choice(sorted(PEOPLE.values()))
    return {"address": address, "subject": rng.choice(_NEW_SUBJECTS), "text": rng.choice(_TEXTS)}


def send(state: State, rng: random.Random) -> Instance:
    slots = _new_mail(rng)
    return Instance(slots, leaves(_sent(slots["address"], slots["subject"], slots["text"])))


def draft(state: State, rng: random.Random) -> Instance:
    slots = _new_mail(rng)
    return Instance(slots, leaves([_composed(slots["address"], slots["subject"], slots["text"], "Drafts")]))


def new_folder(state: State, rng: random.Random) -> Instance:
    name = rng.choice(_NEW_FOLDERS)
    return Instance({"name": name}, leaves([{"kind": "folder", "name": name, "shown": "yes"}]))


def add_contact(state: State, rng: random.Random) -> Instance:
    person = rng.choice(_NEW_NAMES)
    first, last = person.split()
    address = f"{first.lower()}@{rng.choice(_HOSTS)}"
    about = {"name": person, "firstname": first, "surname": last, "email": address, "telephone": ""}
    return Instance({"person": person, "address": address}, leaves([{"kind": "contact", **about}]))


def _replied(mail: Record, text: str) -> tuple[list[Record], list[Record]]:
    """What is new and what is gone when a mail was answered so; who answers a mail has read it."""
    new = _sent(mail["from"], f"Re: {mail['subject']}", text, answers=mail["id"])
    return [*new, mail | {"answered": "yes", "seen": "yes"}], [mail]


def reply(state: State, rng: random.Random) -> Instance:
    mail, text = _one(state, rng), rng.choice(_TEXTS)
    return Instance({"subject": mail["subject"], "text": text}, leaves(*_replied(mail, text)))


def reply_price(state: State, rng: random.Random) -> Instance:
    mail, other = rng.sample(sorted(mails(state), key=lambda one: one["id"]), 2)
    slots = {"subject": mail["subject"], "other": other["subject"]}
    return Instance(slots, leaves(*_replied(mail, _euros(other))))


def forward(state: State, rng: random.Random) -> Instance:
    mail, text = _one(state, rng), rng.choice(_TEXTS)
    address = rng.choice(sorted(set(PEOPLE.values()) - {mail["from"]}))
    new = _sent(address, f"Fwd: {mail['subject']}", text, answers=mail["id"], files=f"{mail['subject']}.eml")
    slots = {"subject": mail["subject"], "address": address, "text": text}
    return Instance(slots, leaves([*new, mail | {"forwarded": "yes"}], [mail]))


def _edit(mail: Record, **new: str) -> Instance:
    return Instance({"subject": mail["subject"]}, edits(mail, **new))


def flag(state: State, rng: random.Random) -> Instance:
    return _edit(_one(state, rng, flagged="no"), flagged="yes")


def mark_read(state: State, rng: random.Random) -> Instance:
    return _edit(_one(state, rng, seen="no"), seen="yes")


def mark_unread(state: State, rng: random.Random) -> Instance:
    return _edit(_one(state, rng, seen="yes"), seen="no")


def move(state: State, rng: random.Random) -> Instance:
    mail, folder = _one(state, rng), rng.choice(FOLDERS)
    return Instance({"subject": mail["subject"], "folder": folder}, edits(mail, folder=folder))


def delete(state: State, rng: random.Random) -> Instance:
    return _edit(_one(state, rng), folder="Trash")


def organization(state: State, rng: random.Random) -> Instance:
    identity, name = rng.choice(state.of("identity")), rng.choice(_ORGANIZATIONS)
    return Instance({"identity": identity["name"], "name": name}, edits(identity, organization=name))


def _only(state: State, rng: random.Random, **known: str) -> Record:
    """A mail of one of the agent's folders, the only one there from its sender."""
    held = [mails(state, folder) for folder in FOLDERS]
    single = [
        one
        for group in held
        for one in group
        if [other["from"] for other in group].count(one["from"]) == 1
        and all(one[name] == value for name, value in known.items())
    ]
    return rng.choice(sorted(single, key=lambda one: one["id"]))


def find_only(state: State, rng: random.Random) -> Instance:
    mail = _only(state, rng)
    others = tuple(one["subject"] for one in mails(state, mail["folder"]))
    return Instance({"folder": mail["folder"], "person": _name(mail["from"])}, says(mail["subject"], others))


def flag_only(state: State, rng: random.Random) -> Instance:
    mail = _only(state, rng, flagged="no")
    return Instance({"folder": mail["folder"], "person": _name(mail["from"])}, edits(mail, flagged="yes"))


def no_mail(state: State, rng: random.Random) -> Instance:
    known = {one["subject"] for one in state.of("mail")}
    words = {one["subject"].rpartition(" at ")[0] for one in mails(state)} - {""}
    places = {one["subject"].rpartition(" at ")[2] for one in mails(state) if " at " in one["subject"]}
    free = sorted({f"{word} at {place}" for word in words for place in places} - known)
    return Instance({"subject": rng.choice(free)}, cannot())


def no_attachment(state: State, rng: random.Random) -> Instance:
    return Instance({"subject": _one(state, rng, files="")["subject"]}, cannot())


def no_contact(state: State, rng: random.Random) -> Instance:
    return Instance({"person": rng.choice(_NEW_NAMES)}, cannot())

"""What may be asked of the contacts."""

from environments.sites.words import Words
from environments.touch.expert.rules import Rule, fill, first, in_app, look_for, on, search, stages, tap, tapped, tell
from environments.touch.families.family import Family, Slots, Source
from environments.touch.phone import Contact, Phone, address, number
from environments.touch.session import replaced


def _draw(source: Source) -> Slots:
    return {"name": source.rng.choice(list(source.phone.contacts))}


def _draw_plain(source: Source) -> Slots:
    names = [name for name, contact in source.phone.contacts.items() if not contact.starred]
    return {"name": source.rng.choice(names)}


def _draw_number(source: Source) -> Slots:
    return {**_draw(source), "phone": number(source.rng)}


def _draw_new(source: Source) -> Slots:
    name = Words(source.rng.randrange(1 << 30)).person()
    return {"name": name, "phone": number(source.rng), "email": address(name)}


def _add(phone: Phone, slots: Slots) -> None:
    phone.contacts[slots["name"]] = Contact(slots["phone"], slots["email"])


def find(name: str, *rules: Rule) -> Rule:
    """`rules` where the contact is shown, found by a search."""
    listed = on("All contacts", search("Search contacts", name))
    return in_app("Contacts", on(name, *rules), on("People found", tap(name)), listed)


def _scroll_to(name: str, *rules: Rule) -> Rule:
    return in_app("Contacts", on(name, *rules), on("All contacts", look_for(name)))


def _save(name: str, phone: str, email: str) -> Rule:
    form = on("New contact", fill("Name", name), fill("Phone", phone), fill("Email", email), tap("Save contact"))
    return stages((tapped("Save contact"), in_app("Contacts", form, on("All contacts", tap("New contact")))))


def _change(name: str, phone: str) -> Rule:
    form = on(f"Edit {name}", fill("Phone", phone), tap("Save changes"))
    return stages((tapped("Save changes"), first(form, find(name, tap("Edit")))))


FAMILIES = (
    Family(
        "contacts-phone",
        1,
        ('Tell the phone number of "{name}".', 'What is the number of my contact "{name}"?'),
        _draw,
        lambda name: _scroll_to(name, tell("Phone")),
        say=lambda phone, slots: phone.contacts[slots["name"]].phone,
    ),
    Family(
        "contacts-star",
        2,
        ('Make "{name}" a favorite contact.', 'Add my contact "{name}" to the favorites.'),
        _draw_plain,
        lambda name: stages((tapped("Favorite"), find(name, tap("Favorite")))),
        do=lambda phone, slots: replaced(phone.contacts, slots["name"], starred=True),
    ),
    Family(
        "contacts-delete",
        2,
        ('Delete the contact "{name}".', 'Remove "{name}" from my contacts.'),
        _draw,
        lambda name: stages((tapped("Delete contact"), _scroll_to(name, tap("Delete contact")))),
        do=lambda phone, slots: phone.contacts.pop(slots["name"]),
    ),
    Family(
        "contacts-add",
        2,
        (
            'Add the contact "{name}" with the phone number "{phone}" and the email "{email}".',
            'Save "{name}" in my contacts: number "{phone}", email "{email}".',
        ),
        _draw_new,
        _save,
        do=_add,
    ),
    Family(
        "contacts-change",
        3,
        ('Change the phone number of "{name}" to "{phone}".', 'My contact "{name}" has a new number: "{phone}".'),
        _draw_number,
        _change,
        do=lambda phone, slots: replaced(phone.contacts, slots["name"], phone=slots["phone"]),
    ),
)

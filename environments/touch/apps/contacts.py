"""Contacts: a long list with a search, and people who can be added, changed, starred and deleted."""

from starlette.responses import Response

from environments.sites.visits import Visit, go_to
from environments.touch import markup as m
from environments.touch.phone import Contact, Phone
from environments.touch.session import Show, replaced

NAME = "Contacts"


def screens() -> dict[str, Show]:
    return {
        "/contacts": _list,
        "/contacts/new": _new,
        "/contacts/save": _save,
        "/contacts/person/{name}": _person,
        "/contacts/edit/{name}": _edit,
        "/contacts/change/{name}": _change,
        "/contacts/star/{name}": _star,
        "/contacts/delete/{name}": _delete,
    }


def _list(visit: Visit, phone: Phone) -> str:
    query = visit.fields.get("q", "").strip()
    names = [name for name in sorted(phone.contacts) if query.lower() in name.lower()]
    lines = [m.row(name, m.path("contacts", "person", name)) for name in names]
    main = m.search("Search contacts", "/contacts", query) + m.rows(lines, "Nobody found")
    return m.page(NAME, "People found" if query else "All contacts", main, m.link("New contact", "/contacts/new"))


def _new(visit: Visit, phone: Phone) -> str:
    fields = m.field("Name", "name") + m.field("Phone", "phone") + m.field("Email", "email")
    return m.page(NAME, "New contact", m.form("/contacts/save", fields, "Save contact"))


def _save(visit: Visit, phone: Phone) -> Response:
    name = visit.fields.get("name", "").strip()
    if not name or name in phone.contacts:
        return go_to("/contacts")
    phone.contacts[name] = Contact(visit.fields.get("phone", "").strip(), visit.fields.get("email", "").strip())
    return go_to(m.path("contacts", "person", name))


def _person(visit: Visit, phone: Phone) -> str | Response:
    name = visit.path["name"]
    if name not in phone.contacts:
        return go_to("/contacts")
    contact = phone.contacts[name]
    main = m.text(f"Phone: {contact.phone}") + m.text(f"Email: {contact.email}")
    main += m.switch("Favorite", contact.starred, m.path("contacts", "star", name))
    main += m.button("Delete contact", m.path("contacts", "delete", name), "back")
    return m.page(NAME, name, main, m.link("Edit", m.path("contacts", "edit", name)))


def _edit(visit: Visit, phone: Phone) -> str | Response:
    name = visit.path["name"]
    if name not in phone.contacts:
        return go_to("/contacts")
    contact = phone.contacts[name]
    fields = m.field("Phone", "phone", contact.phone) + m.field("Email", "email", contact.email)
    return m.page(NAME, f"Edit {name}", m.form(m.path("contacts", "change", name), fields, "Save changes", "back"))


def _change(visit: Visit, phone: Phone) -> Response:
    fields = {key: visit.fields[key].strip() for key in ("phone", "email") if visit.fields.get(key, "").strip()}
    replaced(phone.contacts, visit.path["name"], **fields)
    return go_to(m.path("contacts", "person", visit.path["name"]))


def _star(visit: Visit, phone: Phone) -> Response:
    replaced(phone.contacts, visit.path["name"], starred=visit.fields.get("on") == "true")
    return go_to("/contacts")


def _delete(visit: Visit, phone: Phone) -> Response:
    phone.contacts.pop(visit.path["name"], None)
    return go_to("/contacts")

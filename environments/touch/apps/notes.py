"""Notes: a title and a text each."""

from starlette.responses import Response

from environments.sites.visits import Visit, go_to
from environments.touch import markup as m
from environments.touch.phone import Phone
from environments.touch.session import Show

NAME = "Notes"


def screens() -> dict[str, Show]:
    return {
        "/notes": _list,
        "/notes/new": _new,
        "/notes/save": _save,
        "/notes/note/{title}": _note,
        "/notes/delete/{title}": _delete,
    }


def _list(visit: Visit, phone: Phone) -> str:
    lines = [m.row(title, m.path("notes", "note", title)) for title in phone.notes]
    return m.page(NAME, "All notes", m.rows(lines, "No notes"), m.link("New note", "/notes/new"))


def _new(visit: Visit, phone: Phone) -> str:
    fields = m.field("Title", "title") + m.field("Text", "text")
    return m.page(NAME, "New note", m.form("/notes/save", fields, "Save note"))


def _save(visit: Visit, phone: Phone) -> Response:
    title = visit.fields.get("title", "").strip()
    if title:
        phone.notes[title] = visit.fields.get("text", "").strip()
    return go_to("/notes")


def _note(visit: Visit, phone: Phone) -> str | Response:
    title = visit.path["title"]
    if title not in phone.notes:
        return go_to("/notes")
    delete = m.button("Delete note", m.path("notes", "delete", title), "back")
    return m.page(NAME, title, m.text(f"Text: {phone.notes[title]}") + delete)


def _delete(visit: Visit, phone: Phone) -> Response:
    phone.notes.pop(visit.path["title"], None)
    return go_to("/notes")

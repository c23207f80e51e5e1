"""What may be asked of the notes."""

from environments.sites.words import Words
from environments.touch.expert.rules import Rule, fill, in_app, look_for, on, stages, tap, tapped, tell
from environments.touch.families.family import Family, Slots, Source
from environments.touch.phone import Phone


def _draw(source: Source) -> Slots:
    return {"title": source.rng.choice(list(source.phone.notes))}


def new_title(source: Source) -> str:
    """One that nothing on the phone has."""
    words = Words(source.rng.randrange(1 << 30))
    return f"{words.made_up()} {words.noun()}"


def _draw_new(source: Source) -> Slots:
    return {"title": new_title(source), "text": f"{new_title(source)} {source.rng.randrange(10, 100)}"}


def _write(phone: Phone, slots: Slots) -> None:
    phone.notes[slots["title"]] = slots["text"]


def add(title: str, text: str) -> tuple[str, Rule]:
    """Write a note: what is said at its last tap, and the rule."""
    form = on("New note", fill("Title", title), fill("Text", text), tap("Save note"))
    return tapped("Save note"), in_app("Notes", form, on("All notes", tap("New note")))


def _open(title: str, *rules: Rule) -> Rule:
    return in_app("Notes", on(title, *rules), on("All notes", look_for(title)))


FAMILIES = (
    Family(
        "notes-read",
        1,
        ('What is the code in the note "{title}"?', 'Tell the code that the note "{title}" holds.'),
        _draw,
        lambda title: _open(title, tell("Text")),
        say=lambda phone, slots: phone.notes[slots["title"]].rpartition(" ")[2],
    ),
    Family(
        "notes-delete",
        1,
        ('Delete the note "{title}".', 'Throw away my note "{title}".'),
        _draw,
        lambda title: stages((tapped("Delete note"), _open(title, tap("Delete note")))),
        do=lambda phone, slots: phone.notes.pop(slots["title"]),
    ),
    Family(
        "notes-add",
        2,
        ('Write a note with the title "{title}" and the text "{text}".', 'Note "{text}" under the title "{title}".'),
        _draw_new,
        lambda title, text: stages(add(title, text)),
        do=_write,
    ),
)

"""How somebody who knows Roundcube does what is asked there: choose the mail in its list, then use the buttons."""

import itertools
import re
from collections.abc import Callable

from environments.apps.expert.rules import (
    Move,
    Rule,
    Situation,
    answer,
    clicked,
    done,
    first,
    give_up,
    in_turn,
    note,
    noted,
    on,
    part,
    tell,
    when,
    write,
)
from environments.apps.templates import NOT_POSSIBLE
from environments.sites.expert.reading import Element

CONTACTS, SETTINGS, COMPOSE, FOLDER_LIST = "\uf0c0", "\uf013", "\uf044", "\uf07c"
"""The pictures on buttons that have no other name."""
PRESSED = ("link", "button", "generic")
TO, SUBJECT, TEXT, SEARCH = "", "Subject", "_message", r"Search\.\.\.|try .*"
SEND, SAVE = r"\W*Send", r"\W*Save"


def press(pattern: str) -> Rule:
    """Click what has this whole name, pictures aside: the button itself, not the place around it."""

    def apply(now: Situation) -> Move | None:
        found = [one for one in now.named(PRESSED, pattern) if "disabled: True" not in one.properties]
        return clicked(found[0]) if found else None

    return apply


def named(text: str) -> str:
    return rf"\W*{re.escape(text)}"


def preview(subject: str, *rules: Rule) -> Rule:
    """`rules` where this mail is shown beside the list."""
    title = re.escape(f"Bookbus Mail :: {subject}")
    return when(lambda now: now.named(("RootWebArea",), title), *rules)


def find(subject: str, *rules: Rule) -> Rule:
    """`rules` where this mail is shown, or on the way there."""
    searched = when(lambda now: now.said(f"I should type '{subject}' into"), give_up("There is no such mail."))
    return first(preview(subject, *rules), press(re.escape(subject)), searched, write(SEARCH, subject))


def sent(*fields: Rule) -> Rule:
    """Fill in the form of a new mail, and send it."""
    form = on("Bookbus Mail :: Compose", in_turn(*fields, press(SEND)))
    return first(when(lambda now: now.recalled("(click '\uf1d8Send')"), answer("done")), form)


def _mark(subject: str, how: str) -> Rule:
    return first(done(f"{how}'."), find(subject, press(named(how)), press(r"\W*Mark")))


def _reply(subject: str, text: str) -> Rule:
    return first(sent(write(TEXT, text)), find(subject, press(r"\W*Reply")))


def _forward(subject: str, address: str, text: str) -> Rule:
    return first(sent(write(TO, address), write(TEXT, text)), find(subject, press(r"\W*Forward")))


def _send(address: str, subject: str, text: str) -> Rule:
    return first(sent(write(TO, address), write(SUBJECT, subject), write(TEXT, text)), press(COMPOSE))


def _draft(address: str, subject: str, text: str) -> Rule:
    fields = (write(TO, address), write(SUBJECT, subject), write(TEXT, text), press(SAVE))
    form = on("Bookbus Mail :: Compose", in_turn(*fields))
    return first(when(lambda now: now.recalled(r"(Step 4 of 4)"), answer("done")), form, press(COMPOSE))


def _move(subject: str, folder: str) -> Rule:
    chosen = press(named(folder))
    return first(done(f"{folder}'."), find(subject, chosen, press(r"\W*Move to\W*"), press(r"\W*More.*")))


def _delete(subject: str) -> Rule:
    return first(
        when(lambda now: now.recalled("(click '\\W*Delete')"), answer("done")), find(subject, press(r"\W*Delete"))
    )


def in_folder(folder: str, *rules: Rule) -> Rule:
    """`rules` on the list of a folder, or on the way there."""
    return first(on(rf".*:: {folder}$", *rules), press(rf"\W*{folder}(?: \d+)?"), press(FOLDER_LIST))


def _by(person: str, use: Callable[[Element], Move]) -> Rule:
    """What to do with the first mail of a list that is from this person."""

    def apply(now: Situation) -> Move | None:
        elements = now.page.elements
        pairs = itertools.pairwise(elements)
        return next((use(link) for cell, link in pairs if cell.role == "cell" and cell.name.startswith(person)), None)

    return apply


def _find_only(folder: str, person: str) -> Rule:
    return in_folder(folder, _by(person, lambda link: Move(f"It is '{link.name}'.", f"ANSWER; {link.name}")))


def _flag_only(folder: str, person: str) -> Rule:
    mail = _by(person, lambda link: Move(f"I note '{link.name}'.", clicked(link).action))
    return first(noted(lambda subject: _mark(subject, "As flagged")), in_folder(folder, mail))


def _reply_price(other: str, subject: str) -> Rule:
    price = note(part(r"(\d+) euros"), find(subject))
    return first(noted(lambda value: _reply(subject, value)), find(other, price))


def _attachment(now: Situation) -> Move | None:
    files = (re.fullmatch(r"(\S+\.txt) \(.*\)", one.name) for one in now.page.elements)
    name = next((match[1] for match in files if match), NOT_POSSIBLE)
    return Move(f"The mail shows '{name}' as its file.", f"ANSWER; {name}")


def contacts(*rules: Rule) -> Rule:
    return first(on("Bookbus Mail :: Contacts", *rules), press(CONTACTS))


def _telephone(person: str) -> Rule:
    missing = give_up("Nobody of this name is among the contacts.")
    return contacts(when(lambda now: now.said(person), tell(r"^(0\d\d \d{6})$")), press(named(person)), missing)


def _add_contact(person: str, address: str) -> Rule:
    names = person.split()
    fields = (write("First Name", names[0]), write("Last Name", names[1]), write("Email", address), press(SAVE))
    form = when(lambda now: now.named(("textbox",), "First Name") or now.said("Step 1 of 4"), in_turn(*fields))
    return first(when(lambda now: now.said("Step 4 of 4"), answer("done")), contacts(form, press(r"\W*Create")))


def _open_group(group: str) -> Rule:
    chosen = when(lambda now: now.recalled(f"(click '\\W*{group}')"), answer("done"))
    return first(chosen, contacts(press(named(group)), press(FOLDER_LIST)))


def settings(part: str, *rules: Rule) -> Rule:
    return first(on(f"Bookbus Mail :: {part}", *rules), press(named(part)), press(SETTINGS))


def _new_folder(name: str) -> Rule:
    made = when(lambda now: now.said(f"I should type '{name}'"), answer("done"))
    return first(made, settings("Folders", write("Folder name", name), press(r"\W*Create")))


def _organization(identity: str, name: str) -> Rule:
    form = when(lambda now: now.named(("textbox",), "Organization"), in_turn(write("Organization", name), press(SAVE)))
    saved = when(lambda now: now.said("Step 2 of 2"), answer("done"))
    return first(saved, settings("Identities", form, press(rf"\W*{identity} .*")))


SOLVERS: dict[str, Callable[..., Rule]] = {
    "mail-sender": lambda subject: find(subject, tell(r"^(\w+ \w+) <.+>$")),
    "mail-price": lambda subject: find(subject, tell(r"(\d+) euros")),
    "telephone": _telephone,
    "attachment-name": lambda subject: find(subject, _attachment),
    "open-folder": lambda folder: in_folder(folder, answer("done")),
    "open-group": _open_group,
    "send-mail": _send,
    "save-draft": _draft,
    "new-folder": _new_folder,
    "add-contact": _add_contact,
    "reply": _reply,
    "flag-mail": lambda subject: _mark(subject, "As flagged"),
    "mark-read": lambda subject: _mark(subject, "As read"),
    "mark-unread": lambda subject: _mark(subject, "As unread"),
    "move-mail": _move,
    "delete-mail": _delete,
    "organization": _organization,
    "find-only": _find_only,
    "flag-only": _flag_only,
    "forward": _forward,
    "reply-price": _reply_price,
    "no-such-mail": lambda subject: find(subject),
    "no-attachment": lambda subject: find(subject, _attachment),
    "no-contact": _telephone,
}

"""What a mailbox holds, as records: mails with their folders and marks, what was sent, contacts, identities, settings.

Mails are known by what they are, not by when they came. How a list is sorted is no setting here.
"""

import email
import email.policy
import functools
import re
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from environments.apps.mail.settings import DATABASE, MAILS, OUTBOX
from environments.apps.sqlite import rows

_OURS = re.compile(r"<(\d+\.\w+)@bookbus\.example>")
_MARKS = {"S": "seen", "F": "flagged", "R": "answered"}
_VIEW = {"message_sort_col", "message_sort_order", "client_hash"}
"""How lists look, and what Roundcube notes for itself."""
_SENT = ("subject", "text", "answers", "files")
_QUERIES = {
    "contact": "SELECT name, firstname, surname, email, vcard FROM contacts WHERE NOT del ORDER BY contact_id",
    "group": "SELECT name FROM contactgroups WHERE NOT del ORDER BY contactgroup_id",
    "member": "SELECT one.name AS 'group', contacts.name AS contact FROM contactgroupmembers AS held "
    "JOIN contactgroups AS one USING (contactgroup_id) JOIN contacts USING (contact_id) WHERE NOT one.del "
    "AND NOT contacts.del",
    "identity": 'SELECT name, organization, email, "reply-to" AS reply_to, bcc, signature, standard FROM identities '
    "WHERE NOT del",
    "response": "SELECT name, data FROM responses WHERE NOT del",
}


def records(state: Path) -> list[dict[str, Any]]:
    """Each with a `kind`."""
    found = [record for kind, query in _QUERIES.items() for record in rows(state / DATABASE, kind, query)]
    for record in found:
        if record["kind"] == "contact":
            record["telephone"] = ", ".join(re.findall(r"(?m)^TEL[^:]*:(.*?)\r?$", record.pop("vcard")))
    return [*_mails(state / MAILS), *_sent(state / OUTBOX), *found, *_settings(state / DATABASE)]


def place(url: str) -> str:
    """What the window is about: the folder and its filter, the group of contacts, or what is done there."""
    asked = {name: values[-1] for name, values in parse_qs(urlsplit(url).query).items()}
    task, action = asked.get("_task", "mail"), asked.get("_action", "")
    if task == "mail" and not action:
        kept = asked.get("_filter", "ALL")
        return "/" + asked.get("_mbox", "INBOX") + ("" if kept == "ALL" else f"?{kept}")
    return "/".join(["", task, *filter(None, (action, asked.get("_gid", "")))])


def _mails(mails: Path) -> Iterator[dict[str, Any]]:
    subscribed = set((mails / "subscriptions").read_text().split("\n"))
    for folder in sorted(path for path in (mails, *mails.glob(".*")) if (path / "cur").is_dir()):
        name = "INBOX" if folder == mails else folder.name.removeprefix(".").replace(".", "/")
        held = name == "INBOX" or folder.name.removeprefix(".") in subscribed
        yield {"kind": "folder", "name": name, "shown": _yes(held)}
        keywords = _keywords(folder)
        for path in sorted((*(folder / "cur").iterdir(), *(folder / "new").iterdir())):
            marks = path.name.partition(":2,")[2]
            if "T" in marks:  # deleted, and about to go
                continue
            about = {held: _yes(mark in marks) for mark, held in _MARKS.items()}
            forwarded = _yes("$forwarded" in {keywords.get(mark, "") for mark in marks})
            mail = {name: value for name, value in described(path.read_bytes()).items() if name != "sent_to"}
            yield {"kind": "mail", "folder": name, **mail, **about, "forwarded": forwarded}


def _yes(held: bool) -> str:
    return "yes" if held else "no"


def _keywords(folder: Path) -> dict[str, str]:
    """What the small letters of a name of a file mean."""
    path = folder / "dovecot-keywords"
    lines = path.read_text().splitlines() if path.exists() else []
    return {chr(ord("a") + int(number)): word.lower() for number, word in (line.split(" ", 1) for line in lines)}


def _sent(outbox: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(outbox.glob("*.eml")):
        about = described(path.read_bytes())
        yield {"kind": "sent", "to": about["sent_to"], **{name: about[name] for name in _SENT}}


@functools.lru_cache(4096)
def described(data: bytes) -> dict[str, Any]:
    """A mail without times and marks. `answers` is the mail that it replies to or passes on; white space counts as one
    space. A mail is parsed once, since that is most of what a comparison takes."""
    message = email.message_from_bytes(data, policy=email.policy.default)
    assert isinstance(message, EmailMessage)  # it is, by this policy
    body = message.get_body(preferencelist=("plain", "html"))
    text = body.get_content() if body is not None else ""
    people = {name: ", ".join(_addresses(message, name)) for name in ("from", "to", "cc", "bcc")}
    return {
        "sent_to": ", ".join(sorted(str(message["X-RcptTo"] or "").split(", "))),
        "id": _id(message["Message-ID"]) or "new",
        **people,
        "subject": str(message["Subject"] or ""),
        "text": " ".join(text.split()),
        "answers": _id(message["In-Reply-To"]),
        "files": ", ".join(str(part.get_filename() or "") for part in message.iter_attachments()),
    }


def _addresses(message: EmailMessage, header: str) -> list[str]:
    return [one.addr_spec for held in message.get_all(header, []) for one in held.addresses]


def _id(header: object) -> str:
    found = _OURS.fullmatch(str(header or "").strip())
    return found[1] if found else ""


def _settings(database: Path) -> Iterator[dict[str, Any]]:
    """What differs from the beginning. Lists, such as where a search looks, are Roundcube's own bookkeeping."""
    for user in rows(database, "user", "SELECT preferences FROM users"):
        held = _unserialized(user["preferences"].encode(), 0)[0] if user["preferences"] else {}
        for name, value in held.items():
            if name not in _VIEW and not isinstance(value, dict):
                yield {"kind": "setting", "name": name, "value": value}


def _unserialized(text: bytes, at: int) -> tuple[Any, int]:
    """(a value as PHP's serialize writes it, where it ends); arrays are dicts, and other scalars are their words."""
    kind = text[at : at + 1]
    if kind == b"N":
        return "", at + 2
    end = text.index(b":" if kind in b"sa" else b";", at + 2)
    if kind not in b"sa":
        return text[at + 2 : end].decode(), end + 1
    size, at = int(text[at + 2 : end]), end + 2
    if kind == b"s":
        return text[at : at + size].decode(), at + size + 2
    found = {}
    for _ in range(size):
        key, at = _unserialized(text, at)
        found[key], at = _unserialized(text, at)
    return found, at + 1

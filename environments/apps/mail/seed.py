"""A new mailbox with our content (`content.py`): a Dovecot that is filled over IMAP, and Roundcube's database."""

import contextlib
import imaplib
import os
import shlex
import shutil
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path
from typing import Any

from common.errors import UserError
from environments.apps.clock import BUILT, environment
from environments.apps.mail import content
from environments.apps.mail.install import web
from environments.apps.mail.settings import CONFIG, DATABASE, FOLDERS, IMAP, OUTBOX, SETTINGS, SMTP
from environments.apps.mail.start import COOKIES, START, command, dovecot
from environments.apps.php_warm import warm

CONTENT = ("check.py", "content.py", "seed.py", "settings.py")
_FIRST_DAY = datetime(2025, 11, 3, 8, 30, tzinfo=UTC)
_LEFT = ("logs", "temp")
_PAGES = (
    *("/?_task=mail&_action=list&_mbox=INBOX&_remote=1", "/?_task=mail&_action=preview&_uid=1&_mbox=INBOX&_framed=1"),
    *("/?_task=mail&_action=compose", "/?_task=addressbook", "/?_task=settings&_action=folders"),
    *("/?_task=settings&_action=edit-prefs&_section=mailbox&_framed=1", "/?_task=settings&_action=identities"),
    *("/?_task=addressbook&_action=show&_cid=1&_source=0&_framed=1", "/?_task=mail&_action=search&_q=a&_remote=1"),
)


def build(program: Path, state: Path) -> None:
    """In the empty folder `state`.

    Raises:
        UserError: Dovecot refused a mail, or Roundcube does not answer.
    """
    for name in (CONFIG, OUTBOX, *_LEFT):
        (state / name).mkdir()
    for name in ("defaults.inc.php", "mimetypes.php"):
        shutil.copy(program / "etc" / "roundcube" / name, state / CONFIG / name)
    (state / CONFIG / "config.inc.php").write_text(SETTINGS)
    made = content.make()
    _fill_mails(program, state, made.mails)
    _fill_database(program, state, made)
    warm(program, state, lambda port: command(program, state, port, ""), START, COOKIES, _PAGES)
    for name in (IMAP, SMTP):
        (state / name).unlink()
    with _opened(state / DATABASE) as connection:
        [(logged_in,)] = connection.execute("SELECT last_login IS NOT NULL FROM users")
        if not logged_in:
            raise UserError("Roundcube does not reach Dovecot")
        connection.execute("UPDATE users SET last_login = NULL")
        connection.execute("DELETE FROM session")


def _fill_mails(program: Path, state: Path, mails: list[content.Mail]) -> None:
    where = environment(program, BUILT, HOME=str(state), TMPDIR=str(state))
    settings = [f"{name}={text}" for name, text in where.items() if name != "LD_PRELOAD"]
    line = ["/usr/bin/env", "-i", *settings, *dovecot(program, state)[1:]]
    try:
        with imaplib.IMAP4_stream(f"exec {shlex.join(line)} 2>{os.devnull}") as server:
            for folder in (*FOLDERS, *content.FOLDERS):
                server.create(folder)
                server.subscribe(folder)
            for mail in mails:
                _append(server, mail)
    except (OSError, imaplib.IMAP4.error) as error:
        raise UserError(f"Dovecot could not be filled: {error}") from None


def _append(server: imaplib.IMAP4, mail: content.Mail) -> None:
    marks = {"\\Seen": mail.seen, "\\Flagged": mail.flagged}
    flags = " ".join(name for name, held in marks.items() if held)
    when = imaplib.Time2Internaldate(_time(mail))
    code, answer = server.append(mail.folder, f"({flags})", when, bytes(_message(mail)))
    if code != "OK" or f" {mail.number}]".encode() not in answer[0]:
        raise imaplib.IMAP4.error(f"{mail.subject}: {answer[0].decode()}")


def _time(mail: content.Mail) -> datetime:
    return _FIRST_DAY + timedelta(days=mail.day, minutes=mail.number)


def _message(mail: content.Mail) -> EmailMessage:
    people = {content.AGENT: content.ADDRESS, **content.PEOPLE}
    message = EmailMessage()
    message["From"] = f"{mail.sender} <{people[mail.sender]}>"
    message["To"] = f"{mail.recipient} <{people[mail.recipient]}>"
    message["Subject"] = mail.subject
    message["Date"] = format_datetime(_time(mail))
    message["Message-ID"] = mail.id
    message.set_content(mail.text)
    if mail.file:
        message.add_attachment(f"{mail.subject}\n", filename=mail.file)
        message.set_boundary(f"part-{mail.folder}-{mail.number}")
    return message


def _fill_database(program: Path, state: Path, made: content.Content) -> None:
    schema = (web(program) / "SQL" / "sqlite.initial.sql").read_text()
    with _opened(state / DATABASE) as connection:
        connection.executescript(schema)
        user = {"user_id": 1, "username": "ana", "mail_host": "localhost", "created": BUILT, "language": "en_US"}
        _insert(connection, "users", user)
        for name, address in content.IDENTITIES.items():
            about = {"name": name, "email": address, "standard": int(name == content.AGENT)}
            _insert(connection, "identities", {"user_id": 1, "changed": BUILT, **about})
        for number, (name, address) in enumerate(content.PEOPLE.items(), start=1):
            _insert(connection, "contacts", {"contact_id": number, **_contact(name, address, made.telephones[name])})
        for number, (name, members) in enumerate(content.GROUPS.items(), start=1):
            _insert(connection, "contactgroups", {"contactgroup_id": number, "user_id": 1, "name": name})
            for member in members:
                held = {"contactgroup_id": number, "contact_id": list(content.PEOPLE).index(member) + 1}
                _insert(connection, "contactgroupmembers", held)


def _contact(name: str, address: str, telephone: str) -> dict[str, Any]:
    first, last = name.split()
    lines = (
        "BEGIN:VCARD",
        "VERSION:3.0",
        f"N:{last};{first};;;",
        f"FN:{name}",
        f"EMAIL;TYPE=INTERNET;TYPE=WORK:{address}",
    )
    vcard = "\r\n".join((*lines, f"TEL;TYPE=WORK:{telephone}", "END:VCARD"))
    words = f" {name} {address} ".lower()
    return {
        **{"user_id": 1, "changed": BUILT, "name": name, "email": address, "firstname": first, "surname": last},
        **{"vcard": vcard, "words": words},
    }


@contextlib.contextmanager
def _opened(database: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        yield connection


def _insert(connection: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    places = ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", tuple(row.values()))

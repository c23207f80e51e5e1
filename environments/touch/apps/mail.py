"""Mail: folders, and mails that can be starred, moved, answered and written."""

from starlette.responses import Response

from environments.sites.visits import Visit, go_to
from environments.touch import markup as m
from environments.touch.phone import Phone, Sent, address
from environments.touch.session import Show, replaced

NAME = "Mail"
_FOLDERS = ("Inbox", "Archive", "Trash")


def screens() -> dict[str, Show]:
    return {
        "/mail": _folder,
        "/mail/folder/{folder}": _folder,
        "/mail/write": _write,
        "/mail/send": _send,
        "/mail/mail/{subject}": _mail,
        "/mail/star/{subject}": _star,
        "/mail/move/{subject}/{folder}": _move,
        "/mail/reply/{subject}": _reply,
    }


def _folder(visit: Visit, phone: Phone) -> str:
    folder = visit.path.get("folder", _FOLDERS[0])
    lines = [
        m.row(subject, m.path("mail", "mail", subject), mail.sender)
        for subject, mail in phone.mails.items()
        if mail.folder == folder
    ]
    lines.sort()
    others = [m.row(f"Open {other}", m.path("mail", "folder", other)) for other in _FOLDERS if other != folder]
    return m.page(NAME, folder, m.rows(lines, "No mails") + "".join(others), m.link("Write", "/mail/write"))


def _write(visit: Visit, phone: Phone) -> str:
    fields = m.field("To", "to") + m.field("Subject", "subject") + m.field("Message", "text")
    return m.page(NAME, "New mail", m.form("/mail/send", fields, "Send"))


def _send(visit: Visit, phone: Phone) -> Response:
    to, subject, text = (visit.fields.get(key, "").strip() for key in ("to", "subject", "text"))
    if to and subject:
        phone.sent[subject] = Sent(to, text)
    return go_to("/mail")


def _mail(visit: Visit, phone: Phone) -> str | Response:
    subject = visit.path["subject"]
    if subject not in phone.mails:
        return go_to("/mail")
    mail = phone.mails[subject]
    main = m.text(f"From: {mail.sender}") + m.text(f"Text: {mail.text}")
    main += m.switch("Star", mail.starred, m.path("mail", "star", subject))
    main += m.row("Reply", m.path("mail", "reply", subject))
    for name, folder in (("Archive mail", "Archive"), ("Delete mail", "Trash"), ("Move to inbox", "Inbox")):
        if folder != mail.folder:
            main += m.button(name, m.path("mail", "move", subject, folder), "back")
    return m.page(NAME, subject, main)


def _star(visit: Visit, phone: Phone) -> Response:
    replaced(phone.mails, visit.path["subject"], starred=visit.fields.get("on") == "true")
    return go_to("/mail")


def _move(visit: Visit, phone: Phone) -> Response:
    if visit.path["folder"] in _FOLDERS:
        replaced(phone.mails, visit.path["subject"], folder=visit.path["folder"])
    return go_to("/mail")


def _reply(visit: Visit, phone: Phone) -> str | Response:
    subject = visit.path["subject"]
    if subject not in phone.mails:
        return go_to("/mail")
    to, answered = address(phone.mails[subject].sender), f"Re: {subject}"
    fields = m.field("To", "to", to) + m.field("Subject", "subject", answered) + m.field("Message", "text")
    return m.page(NAME, "Reply", m.form("/mail/send", fields, "Send", "back"))

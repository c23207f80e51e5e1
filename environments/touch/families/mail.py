"""What may be asked of the mails."""

from environments.touch.expert.rules import Rule, fill, first, in_app, look_for, on, stages, tap, tapped, tell
from environments.touch.families.family import Family, Slots, Source
from environments.touch.families.notes import new_title
from environments.touch.phone import Phone, Sent, address
from environments.touch.session import replaced


def _draw(source: Source) -> Slots:
    return {"subject": source.rng.choice(list(source.phone.mails))}


def _draw_plain(source: Source) -> Slots:
    return {"subject": source.rng.choice([name for name, mail in source.phone.mails.items() if not mail.starred])}


def _draw_reply(source: Source) -> Slots:
    return {**_draw(source), "text": new_title(source)}


def _draw_new(source: Source) -> Slots:
    to = address(source.rng.choice(list(source.phone.contacts)))
    return {"to": to, "subject": new_title(source), "text": new_title(source)}


def _send(phone: Phone, slots: Slots) -> None:
    phone.sent[slots["subject"]] = Sent(slots["to"], slots["text"])


def _reply(phone: Phone, slots: Slots) -> None:
    phone.sent[f"Re: {slots['subject']}"] = Sent(address(phone.mails[slots["subject"]].sender), slots["text"])


def find(subject: str, *rules: Rule) -> Rule:
    """`rules` where the mail is shown."""
    return in_app("Mail", on(subject, *rules), on("Inbox", look_for(subject)))


def write(to: str, subject: str, text: str) -> tuple[str, Rule]:
    """Send a mail: what is said at its last tap, and the rule."""
    form = on("New mail", fill("To", to), fill("Subject", subject), fill("Message", text), tap("Send"))
    return tapped("Send"), in_app("Mail", form, on("Inbox", tap("Write")))


def _answer(subject: str, text: str) -> Rule:
    form = on("Reply", fill("Message", text), tap("Send"))
    return stages((tapped("Send"), first(form, find(subject, tap("Reply")))))


FAMILIES = (
    Family(
        "mail-read",
        1,
        ('What is the code in the mail "{subject}"?', 'Tell the code that the mail "{subject}" holds.'),
        _draw,
        lambda subject: find(subject, tell("Text")),
        say=lambda phone, slots: phone.mails[slots["subject"]].text.rpartition(" ")[2],
    ),
    Family(
        "mail-star",
        1,
        ('Put a star on the mail "{subject}".', 'Star the mail "{subject}".'),
        _draw_plain,
        lambda subject: stages((tapped("Star"), find(subject, tap("Star")))),
        do=lambda phone, slots: replaced(phone.mails, slots["subject"], starred=True),
    ),
    Family(
        "mail-archive",
        1,
        ('Archive the mail "{subject}".', 'Move the mail "{subject}" to the archive.'),
        _draw,
        lambda subject: stages((tapped("Archive mail"), find(subject, tap("Archive mail")))),
        do=lambda phone, slots: replaced(phone.mails, slots["subject"], folder="Archive"),
    ),
    Family(
        "mail-reply",
        2,
        ('Reply "{text}" to the mail "{subject}".', 'Answer the mail "{subject}" with "{text}".'),
        _draw_reply,
        _answer,
        do=_reply,
    ),
    Family(
        "mail-write",
        2,
        ('Send a mail to "{to}" with the subject "{subject}" and the message "{text}".',),
        _draw_new,
        lambda to, subject, text: stages(write(to, subject, text)),
        do=_send,
    ),
)

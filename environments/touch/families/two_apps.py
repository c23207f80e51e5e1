"""What takes two apps: a fact is read in one, and used in the other."""

from environments.touch.expert.rules import Rule, noted, recalling, remember, stages
from environments.touch.families import browser, calendar, clock, contacts, mail, notes
from environments.touch.families.family import Family, Slots, Source
from environments.touch.phone import ON, Phone, Sent, web


def _draw_mail(source: Source) -> Slots:
    return {"subject": source.rng.choice(list(source.phone.mails)), "title": notes.new_title(source)}


def _draw_contact(source: Source) -> Slots:
    name = source.rng.choice(list(source.phone.contacts))
    return {"name": name, "subject": notes.new_title(source), "text": notes.new_title(source)}


def _draw_event(source: Source) -> Slots:
    events = source.phone.events.items()
    return {"title": source.rng.choice([title for title, event in events if event.time not in source.phone.alarms])}


def _draw_article(source: Source) -> Slots:
    article = source.rng.choice(web().encyclopedia.of(source.split))
    attribute = source.rng.choice(list(article.facts))
    return {"article": article.title, "attribute": attribute, "title": notes.new_title(source)}


def _note_code(phone: Phone, slots: Slots) -> None:
    phone.notes[slots["title"]] = phone.mails[slots["subject"]].text.rpartition(" ")[2]


def _send(phone: Phone, slots: Slots) -> None:
    phone.sent[slots["subject"]] = Sent(phone.contacts[slots["name"]].email, slots["text"])


def _set_alarm(phone: Phone, slots: Slots) -> None:
    phone.alarms[phone.events[slots["title"]].time] = ON


def _note_fact(phone: Phone, slots: Slots) -> None:
    phone.notes[slots["title"]] = web().encyclopedia.articles[slots["article"]].facts[slots["attribute"]]


def _from_mail(subject: str, title: str) -> Rule:
    words, _ = notes.add(title, "")
    write = recalling("Text", lambda text: notes.add(title, text.rpartition(" ")[2])[1])
    return stages((noted("Text"), mail.find(subject, remember("Text"))), (words, write))


def _to_contact(name: str, subject: str, text: str) -> Rule:
    words, _ = mail.write("", subject, text)
    write = recalling("Email", lambda to: mail.write(to, subject, text)[1])
    return stages((noted("Email"), contacts.find(name, remember("Email"))), (words, write))


def _from_event(title: str) -> Rule:
    words, _ = clock.add("00:00")
    add = recalling("When", lambda when: clock.add(when.rpartition(", ")[2])[1])
    return stages((noted("When"), calendar.find(title, remember("When"))), (words, add))


def _from_web(article: str, attribute: str, title: str) -> Rule:
    words, _ = notes.add(title, "")
    write = recalling(attribute, lambda fact: notes.add(title, fact)[1])
    return stages((noted(attribute), browser.find(article, attribute, remember(attribute))), (words, write))


FAMILIES = (
    Family(
        "two_apps-mail_note",
        3,
        ('Write the code that the mail "{subject}" holds, and nothing else, into a new note called "{title}".',),
        _draw_mail,
        _from_mail,
        do=_note_code,
    ),
    Family(
        "two_apps-contact_mail",
        3,
        ('Send a mail to my contact "{name}", with the subject "{subject}" and the message "{text}".',),
        _draw_contact,
        _to_contact,
        do=_send,
    ),
    Family(
        "two_apps-event_alarm",
        3,
        ('Set an alarm for the time at which the event "{title}" stands in my calendar.',),
        _draw_event,
        _from_event,
        do=_set_alarm,
    ),
    Family(
        "two_apps-web_note",
        3,
        ('Look up "{attribute}" of "{article}" on the web, and write it into a new note called "{title}".',),
        _draw_article,
        _from_web,
        do=_note_fact,
    ),
)

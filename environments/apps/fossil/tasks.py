"""What may be asked of somebody who is logged in to our Fossil."""

import random
import re

from environments.apps.application import Record
from environments.apps.fossil.content import (
    ADMINISTRATOR,
    AGENT,
    PRIORITIES,
    RELEASES,
    RESOLUTIONS,
    SEVERITIES,
    STATUSES,
    TYPES,
)
from environments.apps.fossil.seed import ticket_key
from environments.apps.templates import Instance, State, Template, ask, cannot, edits, leaves, says, shows

_NEW_TITLES = (
    "{} rings at night",
    "{} repeats the same day",
    "{} mixes up north and south",
    "{} prints on the wrong side",
    "{} freezes at low water",
)
_NEW_THINGS = ("Ferry warning", "Sunrise line", "Buoy picture", "Height ruler", "Weekly letter", "Chart legend")
_REMARKS = (
    "Seen once more on the new pier",
    "A fisherman sent a photograph of it",
    "This needs a second look in spring",
    "The gauge was cleaned last week",
    "Happens only with old charts",
)
_NO_HARBORS = ("Grimsund", "Hollvik", "Isfjell", "Jarness", "Kvalby")
_NO_SEVERITIES = ("Harmless", "Fatal", "Trivial", "Blocking", "Annoying")


def tickets(state: State) -> list[Record]:
    return state.of("ticket")


def _other(rng: random.Random, known: tuple[str, ...], value: str) -> str:
    return rng.choice([one for one in known if one != value])


def _title(ticket: Record) -> dict[str, str]:
    return {"title": ticket["title"]}


def _tells(state: State, rng: random.Random, field: str, known: tuple[str, ...]) -> Instance:
    ticket = rng.choice(tickets(state))
    return Instance(_title(ticket), says(ticket[field], known))


def _severity(state: State, rng: random.Random) -> Instance:
    return _tells(state, rng, "severity", SEVERITIES)


def _priority(state: State, rng: random.Random) -> Instance:
    return _tells(state, rng, "priority", PRIORITIES)


def _status(state: State, rng: random.Random) -> Instance:
    return _tells(state, rng, "status", STATUSES)


def _type(state: State, rng: random.Random) -> Instance:
    return _tells(state, rng, "type", TYPES)


def _release(state: State, rng: random.Random) -> Instance:
    return _tells(state, rng, "foundin", RELEASES)


def harbors(state: State) -> dict[str, str]:
    """Texts of the pages about harbors, by the harbor."""
    pages = state.of("page")
    return {one["name"].removeprefix("Harbor "): one["text"] for one in pages if one["name"].startswith("Harbor ")}


def _said(state: State, rng: random.Random, pattern: str) -> Instance:
    found = {name: match[1] for name, text in harbors(state).items() if (match := re.search(pattern, text))}
    name = rng.choice(sorted(found))
    numbers = tuple(re.findall(r"\d+", harbors(state)[name]))
    return Instance({"harbor": name}, says(found[name], numbers))


def _tide(state: State, rng: random.Random) -> Instance:
    return _said(state, rng, r"Highest tide so far: (\d+)")


def _people(state: State) -> tuple[str, ...]:
    return tuple(sorted({one["user"] for one in state.of("check-in")}))


def _release_author(state: State, rng: random.Random) -> Instance:
    check_in = rng.choice([one for one in state.of("check-in") if one["release"]])
    return Instance({"release": check_in["release"]}, says(check_in["user"], _people(state)))


def _check_in_author(state: State, rng: random.Random) -> Instance:
    check_in = rng.choice([one for one in state.of("check-in") if one["user"] != ADMINISTRATOR])
    return Instance({"comment": check_in["comment"]}, says(check_in["user"], _people(state)))


def _open_ticket(state: State, rng: random.Random) -> Instance:
    ticket = rng.choice(tickets(state))
    return Instance(_title(ticket), shows(f"/tktview/{ticket_key(ticket['title'])[:10]}"))


def _open_harbor(state: State, rng: random.Random) -> Instance:
    name = rng.choice(sorted(harbors(state)))
    return Instance({"harbor": name}, shows(f"/wiki/Harbor {name}"))


def _new_title(rng: random.Random) -> str:
    return rng.choice(_NEW_TITLES).format(rng.choice(_NEW_THINGS))


def _new_ticket(title: str, type: str, severity: str, release: str) -> Record:
    """As Fossil makes it of a form in which nothing else was filled in."""
    empty = dict.fromkeys(("priority", "resolution", "subsystem", "comment"), "")
    about = {"title": title, "type": type, "severity": severity, "foundin": release}
    return {"kind": "ticket", "status": "Open", **empty, **about}


def _file_ticket(state: State, rng: random.Random) -> Instance:
    slots = {"title": _new_title(rng), "type": rng.choice(TYPES), "severity": rng.choice(SEVERITIES)}
    slots["release"] = rng.choice(RELEASES)
    return Instance(slots, leaves([_new_ticket(**slots)]))


def _remark(ticket: Record, text: str) -> Record:
    return {"kind": "remark", "title": ticket["title"], "login": AGENT, "text": text}


def _add_remark(state: State, rng: random.Random) -> Instance:
    ticket, text = rng.choice(tickets(state)), rng.choice(_REMARKS)
    return Instance({**_title(ticket), "text": text}, leaves([_remark(ticket, text)]))


def _sets(state: State, rng: random.Random, field: str, known: tuple[str, ...]) -> Instance:
    ticket = rng.choice(tickets(state))
    value = _other(rng, known, ticket[field])
    return Instance({**_title(ticket), "value": value}, edits(ticket, **{field: value}))


def _set_severity(state: State, rng: random.Random) -> Instance:
    return _sets(state, rng, "severity", SEVERITIES)


def _set_priority(state: State, rng: random.Random) -> Instance:
    return _sets(state, rng, "priority", PRIORITIES)


def _close(state: State, rng: random.Random) -> Instance:
    ticket = rng.choice([one for one in tickets(state) if one["status"] != "Closed"])
    resolution = rng.choice(RESOLUTIONS)
    truth = edits(ticket, status="Closed", resolution=resolution)
    return Instance({**_title(ticket), "resolution": resolution}, truth)


def _rename(state: State, rng: random.Random) -> Instance:
    ticket, new = rng.choice(tickets(state)), _new_title(rng)
    return Instance({**_title(ticket), "new": new}, edits(ticket, title=new))


def _the_one(state: State, rng: random.Random) -> tuple[Record, dict[str, str]]:
    """A ticket that no other one shares its type and status with."""
    known = tickets(state)
    keys = [(one["type"], one["status"]) for one in known]
    ticket = rng.choice([one for one, key in zip(known, keys, strict=True) if keys.count(key) == 1])
    return ticket, {"type": ticket["type"], "status": ticket["status"]}


def _find_the_one(state: State, rng: random.Random) -> Instance:
    ticket, slots = _the_one(state, rng)
    return Instance(slots, says(ticket["title"], tuple(one["title"] for one in tickets(state))))


def _set_the_one(state: State, rng: random.Random) -> Instance:
    ticket, slots = _the_one(state, rng)
    value = _other(rng, PRIORITIES, ticket["priority"])
    return Instance({**slots, "value": value}, edits(ticket, priority=value))


def _copy_severity(state: State, rng: random.Random) -> Instance:
    ticket = rng.choice(tickets(state))
    other = rng.choice([one for one in tickets(state) if one["severity"] != ticket["severity"]])
    return Instance({**_title(ticket), "other": other["title"]}, edits(ticket, severity=other["severity"]))


def _reviewer(state: State, rng: random.Random) -> Instance:
    [page] = [one for one in state.of("page") if one["name"] == "Who Reviews What"]
    reviewers: dict[str, str] = dict(re.findall(r"(\w+): (\w+)", page["text"]))
    ticket = rng.choice(tickets(state))
    return Instance(_title(ticket), says(reviewers[ticket["type"]], tuple(reviewers.values())))


def _keeper_remark(state: State, rng: random.Random) -> Instance:
    ticket, harbor = rng.choice(tickets(state)), rng.choice(sorted(harbors(state)))
    [keeper] = re.findall(r"Keeper of the gauge: (\w+)", harbors(state)[harbor])
    return Instance({**_title(ticket), "harbor": harbor}, leaves([_remark(ticket, keeper)]))


def _no_ticket(state: State, rng: random.Random) -> Instance:
    return Instance({"title": _new_title(rng), "value": rng.choice(SEVERITIES)}, cannot())


def _no_severity(state: State, rng: random.Random) -> Instance:
    return Instance({**_title(rng.choice(tickets(state))), "value": rng.choice(_NO_SEVERITIES)}, cannot())


def _no_harbor(state: State, rng: random.Random) -> Instance:
    return Instance({"harbor": rng.choice(_NO_HARBORS)}, cannot())


TEMPLATES: dict[str, Template] = {
    "ticket-severity": ask(
        "answer",
        _severity,
        "How [severe] is the ticket {title}?",
        "Look up the [severity] of the ticket {title}.",
        "Somebody reported this: {title}. Which [severity] does the ticket have?",
    ),
    "ticket-priority": ask(
        "answer",
        _priority,
        "What is the [priority] of the ticket {title}?",
        "Tell me which [priority] the ticket {title} was given.",
        split="test",
    ),
    "ticket-status": ask(
        "answer",
        _status,
        "What is the [status] of the ticket {title}?",
        "Look up the [status] of the ticket {title}.",
        "I wonder how far this is: {title}. Which [status] does the ticket have?",
    ),
    "ticket-type": ask(
        "answer",
        _type,
        "What [type] of ticket is {title}?",
        "Tell me which [type] the ticket {title} was given.",
        "Which [type] does the ticket {title} have?",
    ),
    "ticket-release": ask(
        "answer",
        _release,
        "In which [version] was this found: {title}?",
        "Look up the [version] in which the ticket {title} was found.",
    ),
    "highest-tide": ask(
        "answer",
        _tide,
        "How high was the [highest tide] in {harbor} so far, in centimeters?",
        "The wiki knows the harbor {harbor}. What is its [highest tide], in centimeters?",
    ),
    "release-author": ask(
        "answer",
        _release_author,
        "Who [checked in] the version that became release {release}?",
        "One check-in is tagged as release {release}. Which [user] made it?",
    ),
    "check-in-author": ask(
        "answer",
        _check_in_author,
        "Who [made] the check-in with the comment {comment}?",
        "Which [user] checked this in: {comment}?",
        split="test",
    ),
    "open-ticket": ask(
        "open",
        _open_ticket,
        "[Show] me the ticket {title}.",
        "Open the ticket {title} and [leave it] on the screen.",
        "[Take me] to the ticket that says {title}.",
    ),
    "open-harbor": ask(
        "open",
        _open_harbor,
        "[Show] me the wiki page about the harbor {harbor}.",
        "Open what the wiki says of {harbor} and [leave it] there.",
    ),
    "file-ticket": ask(
        "create",
        _file_ticket,
        (
            "File a ticket of the type {type} and the severity {severity}, found in version {release}. "
            "Its summary: {title}."
        ),
        "Write a new ticket, type {type}, severity {severity}, version {release}. The one-line summary is {title}.",
    ),
    "add-remark": ask(
        "create",
        _add_remark,
        "Append a remark to the ticket {title}. It should read: {text}.",
        "Add to the ticket {title} as a remark: {text}.",
    ),
    "set-severity": ask(
        "edit",
        _set_severity,
        "Change the severity of the ticket {title} to {value}.",
        "The ticket {title} has the wrong severity, it should be {value}.",
        "From now on the ticket {title} counts as {value}. Set its severity.",
    ),
    "set-priority": ask(
        "edit",
        _set_priority,
        "Give the ticket {title} the priority {value}.",
        "Set the priority of the ticket {title} to {value}.",
    ),
    "close-ticket": ask(
        "edit",
        _close,
        "Close the ticket {title} with the resolution {resolution}.",
        "The ticket {title} is done. Set its status to Closed and its resolution to {resolution}.",
    ),
    "rename-ticket": ask(
        "edit",
        _rename,
        "Change the title of the ticket {title} to this: {new}.",
        "The ticket {title} is badly named. Call it {new} instead.",
        split="test",
    ),
    "find-the-one": ask(
        "constraints",
        _find_the_one,
        "Only one ticket of the type {type} has the status {status}. What is its title?",
        "Which {type} has the status {status}? Give the title of the ticket.",
    ),
    "set-the-one": ask(
        "constraints",
        _set_the_one,
        "Set the priority of the only ticket of the type {type} with the status {status} to {value}.",
        "There is one {type} whose status is {status}. Its priority should be {value}.",
        split="test",
    ),
    "copy-severity": ask(
        "steps",
        _copy_severity,
        "Give the ticket {title} the same severity as the ticket {other}.",
        "The ticket {title} is just as severe as the ticket {other}. Correct its severity.",
    ),
    "reviewer": ask(
        "steps",
        _reviewer,
        "The wiki page Who Reviews What names a reviewer for each type. Who reviews the ticket {title}?",
        "Look up the type of the ticket {title}, then tell me who reviews it by the wiki page Who Reviews What.",
    ),
    "keeper-remark": ask(
        "steps",
        _keeper_remark,
        (
            "Look up in the wiki who keeps the gauge of {harbor}, and append just that name as a remark to the ticket "
            "{title}."
        ),
        "Append to the ticket {title} a remark that is only the name of the keeper of the gauge of {harbor}.",
        split="test",
    ),
    "no-such-ticket": ask(
        "impossible",
        _no_ticket,
        "Let the severity of the ticket {title} be {value}.",
        "The severity of the ticket {title} must become {value}.",
    ),
    "no-such-severity": ask(
        "impossible",
        _no_severity,
        "Mark the ticket {title} as {value} in its severity.",
        "In the field for the severity of the ticket {title} choose {value}.",
    ),
    "no-such-harbor": ask(
        "impossible",
        _no_harbor,
        "In which year was the gauge of {harbor} built?",
        "Find the year in which {harbor} got its gauge.",
    ),
}

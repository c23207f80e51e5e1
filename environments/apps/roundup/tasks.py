"""What may be asked of somebody who is logged in to our Roundup."""

import random

from environments.apps.application import Record
from environments.apps.roundup.content import AGENT
from environments.apps.templates import Instance, State, Template, ask, cannot, edits, leaves, says, shows

_NEW_TITLES = (
    "{} beeps at dawn",
    "{} points to the wrong hemisphere",
    "{} hides the clouds",
    "{} prints in mirror writing",
    "{} loses its calibration",
    "{} drifts by a degree",
)
_NEW_THINGS = ("Radio dish", "Sun filter", "Shutter panel", "Coffee timer", "Laser guide", "Star map", "Door sensor")
_STRANGERS = ("gustav", "hanna", "ivo", "jorun", "klara")
_EMPTY = dict.fromkeys(
    ("priority", "status", "resolution", "assignee", "versions", "keywords", "dependencies", "superseder"), ""
)


def values(state: State, field: str) -> list[str]:
    """What bugs have there."""
    return sorted({bug[field] for bug in state.of("bug") if bug[field]})


def _bug(state: State, rng: random.Random) -> Record:
    return rng.choice(state.of("bug"))


def _other(rng: random.Random, known: list[str], value: str) -> str:
    return rng.choice([one for one in known if one != value])


def _tells(state: State, rng: random.Random, field: str) -> Instance:
    bug = rng.choice([bug for bug in state.of("bug") if bug[field]])
    return Instance({"title": bug["title"]}, says(bug[field], tuple(values(state, field))))


def _assignee(state: State, rng: random.Random) -> Instance:
    return _tells(state, rng, "assignee")


def _severity(state: State, rng: random.Random) -> Instance:
    return _tells(state, rng, "severity")


def _reporter(state: State, rng: random.Random) -> Instance:
    return _tells(state, rng, "creator")


def _resolution(state: State, rng: random.Random) -> Instance:
    return _tells(state, rng, "resolution")


def _open(state: State, rng: random.Random) -> Instance:
    bug = _bug(state, rng)
    return Instance({"title": bug["title"]}, shows(f"/tracker/bug{bug['id']}"))


def _new_title(rng: random.Random) -> str:
    return rng.choice(_NEW_TITLES).format(rng.choice(_NEW_THINGS))


def _report(state: State, rng: random.Random) -> Instance:
    fields = {"type": "type", "severity": "severity", "component": "components"}
    slots = {name: rng.choice(values(state, field)) for name, field in fields.items()} | {"title": _new_title(rng)}
    bug = {"kind": "bug", "creator": AGENT, "retired": 0, **_EMPTY, "title": slots["title"]}
    bug |= {"type": slots["type"], "severity": slots["severity"], "components": slots["component"]}
    return Instance(slots, leaves([bug]))


def _sets(state: State, rng: random.Random, field: str) -> Instance:
    bug = _bug(state, rng)
    value = _other(rng, values(state, field), bug[field])
    return Instance({"title": bug["title"], "value": value}, edits(bug, **{field: value}))


def _set_severity(state: State, rng: random.Random) -> Instance:
    return _sets(state, rng, "severity")


def _set_priority(state: State, rng: random.Random) -> Instance:
    return _sets(state, rng, "priority")


def _assign(state: State, rng: random.Random) -> Instance:
    return _sets(state, rng, "assignee")


def _close(state: State, rng: random.Random) -> Instance:
    bug = rng.choice([bug for bug in state.of("bug") if bug["status"] != "closed"])
    resolution = rng.choice(values(state, "resolution"))
    truth = edits(bug, status="closed", resolution=resolution)
    return Instance({"title": bug["title"], "resolution": resolution}, truth)


def _rename(state: State, rng: random.Random) -> Instance:
    bug, title = _bug(state, rng), _new_title(rng)
    return Instance({"title": bug["title"], "new": title}, edits(bug, title=title))


def _the_one(state: State, rng: random.Random) -> tuple[Record, dict[str, str]]:
    """A bug that no other one shares these fields with."""
    known = state.of("bug")
    keys = [(bug["severity"], bug["components"], bug["status"]) for bug in known]
    bug = rng.choice([one for one, key in zip(known, keys, strict=True) if keys.count(key) == 1])
    return bug, {"severity": bug["severity"], "component": bug["components"], "status": bug["status"]}


def _find_the_one(state: State, rng: random.Random) -> Instance:
    bug, slots = _the_one(state, rng)
    others = tuple(str(one["id"]) for one in state.of("bug") if one is not bug)
    return Instance(slots, says(str(bug["id"]), others))


def _assign_the_one(state: State, rng: random.Random) -> Instance:
    bug, slots = _the_one(state, rng)
    person = _other(rng, values(state, "assignee"), bug["assignee"])
    return Instance({**slots, "person": person}, edits(bug, assignee=person))


def _copies(state: State, rng: random.Random, field: str) -> Instance:
    bug = _bug(state, rng)
    other = rng.choice([one for one in state.of("bug") if one[field] and one[field] != bug[field]])
    return Instance({"title": bug["title"], "other": other["title"]}, edits(bug, **{field: other[field]}))


def _copy_assignee(state: State, rng: random.Random) -> Instance:
    return _copies(state, rng, "assignee")


def _copy_severity(state: State, rng: random.Random) -> Instance:
    return _copies(state, rng, "severity")


def _no_person(state: State, rng: random.Random) -> Instance:
    return Instance({"title": _bug(state, rng)["title"], "person": rng.choice(_STRANGERS)}, cannot())


def _no_bug(state: State, rng: random.Random) -> Instance:
    return Instance({"title": _new_title(rng), "value": rng.choice(values(state, "priority"))}, cannot())


TEMPLATES: dict[str, Template] = {
    "bug-assignee": ask(
        "answer",
        _assignee,
        "Who is the bug {title} assigned to?",
        "Tell me who works on the bug {title}.",
        "Whose job is it to mend this one: {title}?",
    ),
    "bug-severity": ask(
        "answer", _severity, "How severe is the bug {title}?", "I need the severity that the bug {title} was given."
    ),
    "bug-reporter": ask(
        "answer",
        _reporter,
        "Who reported the bug {title}?",
        "Find out who created the bug report {title}.",
        split="test",
    ),
    "bug-resolution": ask(
        "answer",
        _resolution,
        "With which resolution was the bug {title} closed?",
        "The bug {title} is closed. Look up its resolution.",
    ),
    "open-bug": ask(
        "open",
        _open,
        "Show me the bug {title}.",
        "Open the page of the bug {title} and leave it there.",
        "Take me to the report saying {title}.",
    ),
    "report-bug": ask(
        "create",
        _report,
        "Report a new bug of the type {type} and the severity {severity} in the component {component}: {title}.",
        "File a bug titled {title}, type {type}, severity {severity}, component {component}.",
        "This needs a bug report: {title}. Its type is {type}, its severity {severity}, its component {component}.",
    ),
    "set-severity": ask(
        "edit",
        _set_severity,
        "Change the severity of the bug {title} to {value}.",
        "The bug {title} has the wrong severity. It should be {value}.",
    ),
    "set-priority": ask(
        "edit", _set_priority, "Give the bug {title} the priority {value}.", "Set the priority of {title} to {value}."
    ),
    "assign-bug": ask(
        "edit",
        _assign,
        "Assign the bug {title} to {value}.",
        "From today on {value} looks after the bug {title}. Assign it.",
    ),
    "close-bug": ask(
        "edit",
        _close,
        "Close the bug {title} with the resolution {resolution}.",
        "Set the bug {title} to closed, resolution {resolution}.",
    ),
    "rename-bug": ask(
        "edit",
        _rename,
        "Change the title of the bug {title} to this one: {new}.",
        "The bug {title} is badly named. Call it {new} instead.",
        split="test",
    ),
    "find-the-one": ask(
        "constraints",
        _find_the_one,
        "One bug in the component {component} has the severity {severity} and the status {status}. Which number?",
        "What is the id of the only {severity} bug about {component} whose status is {status}?",
    ),
    "assign-the-one": ask(
        "constraints",
        _assign_the_one,
        "Assign the only {severity} bug in {component} with the status {status} to {person}.",
        "There is one bug of severity {severity} in {component} that is {status}. Let {person} have it.",
        split="test",
    ),
    "copy-assignee": ask(
        "steps",
        _copy_assignee,
        "Let the person who has the bug {other} take the bug {title} as well.",
        "Whoever works on the bug {other} should get the bug {title}, too. Assign it.",
    ),
    "copy-severity": ask(
        "steps",
        _copy_severity,
        "Give the bug {title} the same severity as the bug {other}.",
        "The bug {title} is just as severe as the bug {other}. Correct its severity.",
        split="test",
    ),
    "no-such-person": ask(
        "impossible",
        _no_person,
        "Make {person} the assignee of the bug {title}.",
        "Let {person} take over the bug {title}.",
    ),
    "no-such-bug": ask(
        "impossible",
        _no_bug,
        "Let the priority of the bug {title} be {value}.",
        "The priority of the bug {title} must become {value}.",
    ),
}

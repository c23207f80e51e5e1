"""An instance of each kind of task on our conference, drawn with its ground truth; `tasks.py` has the words."""

import datetime
import random
from collections import Counter

from environments.apps.application import Record
from environments.apps.pretalx.content import AGENT, DAYS, GIVEN, REVIEWERS, ROOMS, SCORES, SLUG, TIMES, USED
from environments.apps.templates import Instance, State, cannot, edits, leaves, says, shows

_TITLES = (
    "A cellar without frost",
    "Bees in April",
    "Hedges for birds",
    "The pear that came back",
    "Water from the roof",
)
_NEW_ROOMS = ("Bakery", "Boathouse", "Chapel", "Library", "Tent by the pond")
_CAPACITIES = ("35", "50", "70", "90", "150")
_NEW_TYPES = ("Debate", "Excursion", "Lecture", "Reading", "Short report")
_MINUTES = ("10", "20", "60", "75", "120")
_COMMENTS = (
    "I asked for a shorter summary.",
    "We heard this one in spring, and it was good.",
    "The pictures would need the big screen.",
    "Please put this one in the morning.",
)
_OPINIONS = ("I would like to hear this.", "Not new to most of us.", "It needs a kitchen.", "Good for a Saturday.")
_MISSING = ("Painting", "Photographing", "Insuring")
_THINGS = ("melons", "olives", "pumpkins", "lemons")
_VERSIONS = ("1.1", "1.2", "2.0", "2.1")
_STRANGERS = ("Petra Quist", "Simon Wolde", "Tilda Moss", "Ugo Sarti", "Vera Klimt")
_EMPTY_SLOT = dict.fromkeys(("room", "start", "end", "description"), "")


def _proposals(state: State, *states: str) -> list[Record]:
    return [one for one in state.of("proposal") if one["state"] in states]


def _slots(state: State) -> dict[str, Record]:
    """The times and rooms of the schedule that is worked on, by the codes of the sessions that have them."""
    return {one["proposal"]: one for one in state.of("slot") if not one["version"] and one["room"]}


def _scheduled(state: State) -> list[Record]:
    slots = _slots(state)
    return [one for one in state.of("proposal") if one["code"] in slots]


def _public(state: State) -> list[Record]:
    """Those that visitors see."""
    return [one for one in _scheduled(state) if one["state"] == "confirmed"]


def _titles(state: State) -> tuple[str, ...]:
    return tuple(one["title"] for one in state.of("proposal"))


def _title(proposal: Record, **more: str) -> dict[str, str]:
    return {"title": proposal["title"], **more}


def day_of(when: str) -> str:
    """As people say it."""
    date = datetime.date.fromisoformat(when[:10])
    return f"{DAYS[when[:10]]}, {date.day} January"


def room_of(state: State, rng: random.Random) -> Instance:
    proposal = rng.choice(_scheduled(state))
    return Instance(_title(proposal), says(_slots(state)[proposal["code"]]["room"], tuple(ROOMS)))


def start_of(state: State, rng: random.Random) -> Instance:
    proposal = rng.choice(_public(state))
    return Instance(_title(proposal), says(_slots(state)[proposal["code"]]["start"][11:], TIMES))


def speakers_of(state: State, rng: random.Random) -> Instance:
    alone = [one for one in state.of("proposal") if "," not in one["speakers"]]
    proposal = rng.choice(alone)
    return Instance(_title(proposal), says(proposal["speakers"], tuple(one["name"] for one in state.of("speaker"))))


def state_of(state: State, rng: random.Random) -> Instance:
    """The page has other words for those that were rejected."""
    found = [one for one in state.of("proposal") if one["state"] != "rejected"]
    proposal, known = rng.choice(found), {one["state"] for one in found}
    return Instance(_title(proposal), says(proposal["state"], ("not accepted", *known)))


def capacity_of(state: State, rng: random.Random) -> Instance:
    room = rng.choice(state.of("room"))
    return Instance({"room": room["name"]}, says(room["capacity"], tuple(one["capacity"] for one in state.of("room"))))


def score_of(state: State, rng: random.Random) -> Instance:
    review = rng.choice([one for one in state.of("review") if one["by"] in REVIEWERS])
    proposal = next(one for one in state.of("proposal") if one["code"] == review["proposal"])
    return Instance(
        _title(proposal, reviewer=review["by"]), says(str(SCORES[review["score"]]), tuple(map(str, SCORES.values())))
    )


def open_proposal(state: State, rng: random.Random) -> Instance:
    proposal = rng.choice(state.of("proposal"))
    return Instance(_title(proposal), shows(f"/orga/event/{SLUG}/submissions/{proposal['code']}"))


def open_public(state: State, rng: random.Random) -> Instance:
    proposal = rng.choice(_public(state))
    return Instance(_title(proposal), shows(f"/{SLUG}/talk/{proposal['code']}"))


def new_room(state: State, rng: random.Random) -> Instance:
    slots = {"room": rng.choice(_NEW_ROOMS), "capacity": rng.choice(_CAPACITIES)}
    empty = dict.fromkeys(("description", "speaker_info", "guid"), "")
    return Instance(slots, leaves([{"kind": "room", "name": slots["room"], "capacity": slots["capacity"], **empty}]))


def new_type(state: State, rng: random.Random) -> Instance:
    name, minutes = rng.choice(_NEW_TYPES), rng.choice(_MINUTES)
    record = {"kind": "type", "name": name, "duration": minutes, "deadline": "", "requires_access_code": 0}
    return Instance({"type": name, "minutes": minutes}, leaves([record]))


def new_comment(state: State, rng: random.Random) -> Instance:
    proposal, text = rng.choice(state.of("proposal")), rng.choice(_COMMENTS)
    record = {"kind": "comment", "proposal": proposal["code"], "by": AGENT, "text": text, "answers": ""}
    return Instance(_title(proposal, text=text), leaves([record]))


def new_review(state: State, rng: random.Random) -> Instance:
    proposal = rng.choice(_proposals(state, "submitted"))
    score, text = rng.choice(tuple(SCORES)), rng.choice(_OPINIONS)
    record = {"kind": "review", "proposal": proposal["code"], "by": AGENT, "text": text, "score": score}
    return Instance(_title(proposal, score=score, text=text), leaves([record]))


def _mail(template: str, subject: str, to: str) -> Record:
    """One that waits in the outbox."""
    empty = dict.fromkeys(("addresses", "cc", "bcc", "reply_to"), "")
    return {"kind": "mail", "template": template, "subject": subject, "people": to, **empty, "sent": "no"}


def state_mails(proposal: Record, state: str) -> list[Record]:
    """What waits for its speakers once it has this state."""
    about = f"submission.state.{state}", f"Your proposal: {proposal['title']}"
    return [_mail(*about, name) for name in proposal["speakers"].split(", ")]


def _accepted(proposal: Record) -> list[Record]:
    """It waits for a time and a room."""
    slot = {"kind": "slot", "version": "", "proposal": proposal["code"], **_EMPTY_SLOT}
    return [{**proposal, "state": "accepted"}, slot, *state_mails(proposal, "accepted")]


def accept(state: State, rng: random.Random) -> Instance:
    proposal = rng.choice(_proposals(state, "submitted"))
    return Instance(_title(proposal), leaves(_accepted(proposal), [proposal]))


def reject(state: State, rng: random.Random) -> Instance:
    proposal = rng.choice(_proposals(state, "submitted"))
    added = [{**proposal, "state": "rejected"}, *state_mails(proposal, "rejected")]
    return Instance(_title(proposal), leaves(added, [proposal]))


def confirm(state: State, rng: random.Random) -> Instance:
    proposal = rng.choice(_proposals(state, "accepted"))
    return Instance(_title(proposal), edits(proposal, state="confirmed"))


def cancel(state: State, rng: random.Random) -> Instance:
    """It loses its time and room."""
    proposal = rng.choice(_public(state))
    removed = [proposal, _slots(state)[proposal["code"]]]
    return Instance(_title(proposal), leaves([{**proposal, "state": "canceled"}], removed))


def _free(state: State, start: str) -> list[str]:
    taken = {one["room"] for one in _slots(state).values() if one["start"] == start}
    return [name for name in ROOMS if name not in taken]


def _move(state: State, rng: random.Random) -> tuple[Record, Record, str]:
    """A session, where it is, and another room that is free then."""
    proposal = rng.choice(_scheduled(state))
    slot = _slots(state)[proposal["code"]]
    return proposal, slot, rng.choice(_free(state, slot["start"]))


def move(state: State, rng: random.Random) -> Instance:
    proposal, slot, room = _move(state, rng)
    return Instance(_title(proposal, room=room), edits(slot, room=room))


def reschedule(state: State, rng: random.Random) -> Instance:
    """To a time at which its room is free."""
    slots = _slots(state)
    while True:
        proposal = rng.choice(_scheduled(state))
        slot = slots[proposal["code"]]
        starts = [f"{day} {time}" for day in DAYS for time in TIMES if slot["room"] in _free(state, f"{day} {time}")]
        if starts:
            break
    start = rng.choice(starts)
    length = datetime.datetime.fromisoformat(slot["end"]) - datetime.datetime.fromisoformat(slot["start"])
    end = (datetime.datetime.fromisoformat(start) + length).isoformat(" ", "minutes")
    about = {"day": day_of(start), "start": start[11:], "end": end[11:]}
    return Instance(_title(proposal, **about), edits(slot, start=start, end=end))


def place(state: State, rng: random.Random) -> Instance:
    """A session that waits for a time and a room."""
    slots = _slots(state)
    waiting = [one for one in _proposals(state, "accepted", "confirmed") if one["code"] not in slots]
    proposal, room, day, time = rng.choice(waiting), rng.choice(USED), rng.choice(tuple(DAYS)), rng.choice(TIMES)
    minutes = next(one["duration"] for one in state.of("type") if one["name"] == proposal["type"])
    start = f"{day} {time}"
    end = datetime.datetime.fromisoformat(start) + datetime.timedelta(minutes=int(minutes))
    slot = {"kind": "slot", "version": "", "proposal": proposal["code"], **_EMPTY_SLOT}
    new = {"room": room, "start": start, "end": end.isoformat(" ", "minutes")}
    about = {"room": room, "day": day_of(start), "start": time, "end": new["end"][11:]}
    return Instance(_title(proposal, **about), edits(slot, **new))


def retitle(state: State, rng: random.Random) -> Instance:
    proposal, title = rng.choice(state.of("proposal")), rng.choice(_TITLES)
    return Instance(_title(proposal, new=title), edits(proposal, title=title))


def change_capacity(state: State, rng: random.Random) -> Instance:
    room, capacity = rng.choice(state.of("room")), rng.choice(_CAPACITIES)
    return Instance({"room": room["name"], "capacity": capacity}, edits(room, capacity=capacity))


def arrived(state: State, rng: random.Random) -> Instance:
    """One who speaks at the conference: of others it is not noted."""
    coming = {name for one in _proposals(state, "accepted", "confirmed") for name in one["speakers"].split(", ")}
    absent = [one for one in state.of("speaker") if one["arrived"] == "no"]
    speaker = rng.choice([one for one in absent if one["name"] in coming])
    return Instance({"person": speaker["name"]}, edits(speaker, arrived="yes"))


def delete_tag(state: State, rng: random.Random) -> Instance:
    """One that no session has."""
    tag = rng.choice([one for one in state.of("tag") if one["name"] not in GIVEN])
    return Instance({"tag": tag["name"]}, leaves([], [tag]))


def discard_mail(state: State, rng: random.Random) -> Instance:
    mail = rng.choice([one for one in state.of("mail") if one["sent"] == "no"])
    return Instance({"person": mail["people"], "title": mail["subject"].partition(": ")[2]}, leaves([], [mail]))


def send_mail(state: State, rng: random.Random) -> Instance:
    mail = rng.choice([one for one in state.of("mail") if one["sent"] == "no"])
    slots = {"person": mail["people"], "title": mail["subject"].partition(": ")[2]}
    return Instance(slots, edits(mail, sent="yes"))


def find_at(state: State, rng: random.Random) -> Instance:
    proposal = rng.choice(_public(state))
    slot = _slots(state)[proposal["code"]]
    slots = {"room": slot["room"], "day": day_of(slot["start"]), "time": slot["start"][11:]}
    return Instance(slots, says(proposal["title"], _titles(state)))


def _only(state: State, rng: random.Random) -> Record:
    """The only one of its track, in its form, about which nothing is decided."""
    open_ones = _proposals(state, "submitted")
    count = Counter((one["track"], one["type"]) for one in open_ones)
    return rng.choice([one for one in open_ones if count[one["track"], one["type"]] == 1])


def accept_only(state: State, rng: random.Random) -> Instance:
    proposal = _only(state, rng)
    slots = {"track": proposal["track"], "type": proposal["type"]}
    return Instance(slots, leaves(_accepted(proposal), [proposal]))


def same_room(state: State, rng: random.Random) -> Instance:
    """Into the room of another, at its own time."""
    slots = _slots(state)
    proposal, slot, room = _move(state, rng)
    while room not in {one["room"] for one in slots.values()}:
        proposal, slot, room = _move(state, rng)
    other = rng.choice([one for one in _scheduled(state) if slots[one["code"]]["room"] == room])
    return Instance(_title(proposal, other=other["title"]), edits(slot, room=room))


def confirm_two(state: State, rng: random.Random) -> Instance:
    pair = rng.sample(_proposals(state, "accepted"), 2)
    added = [{**one, "state": "confirmed"} for one in pair]
    return Instance(_title(pair[0], other=pair[1]["title"]), leaves(added, pair))


def move_and_release(state: State, rng: random.Random) -> Instance:
    """What was worked on becomes the version, and is worked on from there. Its speakers are told."""
    proposal, slot, room = _move(state, rng)
    while proposal["state"] != "confirmed":
        proposal, slot, room = _move(state, rng)
    version = rng.choice(_VERSIONS)
    moved = {**slot, "room": room}
    worked_on = [moved if one == slot else one for one in state.of("slot") if not one["version"]]
    released = [{**one, "version": version} for one in worked_on]
    about = {"kind": "schedule", "version": version, "comment": "We released a new schedule version!"}
    mails = [_mail("schedule.new", "New schedule!", name) for name in proposal["speakers"].split(", ")]
    return Instance(_title(proposal, room=room, version=version), leaves([moved, *released, about, *mails], [slot]))


def no_session(state: State, rng: random.Random) -> Instance:
    return Instance({"title": f"{rng.choice(_MISSING)} {rng.choice(_THINGS)}"}, cannot())


def foreign_team(state: State, rng: random.Random) -> Instance:
    """Only owners change teams."""
    return Instance({"person": rng.choice(_STRANGERS)}, cannot())

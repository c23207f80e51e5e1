"""What may be asked of somebody who keeps our museum's notebook in TiddlyWiki."""

import random
import re
from collections import Counter

from environments.apps.application import Record
from environments.apps.templates import Instance, State, Template, ask, cannot, edits, leaves, says, shows
from environments.apps.tiddlywiki.check import record
from environments.apps.tiddlywiki.content import ADJECTIVES, DONE, JOB, KINDS, LOG, ROOM

_TITLES = ("Visit of the glazier", "Loan to the town hall", "Opening hours", "Spare parts", "Thanks", "Lost keys")
_TEXTS = (
    "The door to the attic sticks again.",
    "Ask the joiner for two more stands.",
    "No drinks beside the cabinets.",
    "The catalog goes to print in June.",
    "Wind nothing while the painters are here.",
)
_TAGS = ("Fragile", "Insured", "Photographed", "Reserved", "Unsigned")
_NAMES = ("Founder Clock", "Mayor Clock", "Old Faithful", "Sunday Clock", "Town Clock")


def tags(page: Record) -> list[str]:
    return page["tags"].split(", ")


def clocks(state: State) -> list[Record]:
    return [page for page in state.of("page") if set(tags(page)) & set(KINDS.values())]


def tagged(state: State, tag: str) -> list[Record]:
    return [page for page in state.of("page") if tag in tags(page)]


def titled(state: State, title: str) -> Record:
    return next(page for page in state.of("page") if page["title"] == title)


def fact(page: Record, name: str) -> str:
    """Such as the height, where a line says "Height: 41 cm"."""
    return re.findall(rf"(?m)^\* {name}: (?:number )?(.+?)(?: cm)?$", page["text"])[0]


def maker(clock: Record) -> str:
    return re.findall(r"Made by \[\[(.+?)\]\]", clock["text"])[0]


def room(clock: Record) -> str:
    return re.findall(r"stands in the \[\[(.+?)\]\]", clock["text"])[0]


def _with_tag(page: Record, tag: str) -> str:
    return ", ".join(sorted([*filter(None, tags(page)), tag]))


def _page(title: str, text: str, tag: str = "") -> Record:
    return record({"title": title, "text": text, "tags": tag})


def _clock_maker(state: State, rng: random.Random) -> Instance:
    clock = rng.choice(clocks(state))
    return Instance({"clock": clock["title"]}, says(maker(clock), tuple(sorted(set(map(maker, clocks(state)))))))


def _clock_height(state: State, rng: random.Random) -> Instance:
    clock = rng.choice(clocks(state))
    others = tuple(fact(one, "Height") for one in clocks(state))
    return Instance({"clock": clock["title"]}, says(fact(clock, "Height"), others))


def _keepers(state: State) -> tuple[str, ...]:
    return tuple(fact(one, "Keeper") for one in tagged(state, ROOM))


def _room_keeper(state: State, rng: random.Random) -> Instance:
    clock = rng.choice(clocks(state))
    keeper = fact(titled(state, room(clock)), "Keeper")
    return Instance({"clock": clock["title"]}, says(keeper, _keepers(state)))


def _open_clock(state: State, rng: random.Random) -> Instance:
    clock = rng.choice(clocks(state))["title"]
    return Instance({"clock": clock}, shows(f"/{clock}"))


def _open_maker(state: State, rng: random.Random) -> Instance:
    clock = rng.choice(clocks(state))
    return Instance({"clock": clock["title"]}, shows(f"/{maker(clock)}"))


def _write_page(state: State, rng: random.Random) -> Instance:
    slots = {"title": rng.choice(_TITLES), "text": rng.choice(_TEXTS)}
    return Instance(slots, leaves([_page(**slots)]))


def _write_tagged(state: State, rng: random.Random) -> Instance:
    slots = {"title": rng.choice(_TITLES), "tag": rng.choice(_TAGS), "text": rng.choice(_TEXTS)}
    return Instance(slots, leaves([_page(**slots)]))


def _change_notice(state: State, rng: random.Random) -> Instance:
    where, text = rng.choice(tagged(state, ROOM))["title"], rng.choice(_TEXTS)
    return Instance({"room": where, "text": text}, edits(titled(state, f"Notice for the {where}"), text=text))


def _rename_clock(state: State, rng: random.Random) -> Instance:
    clock, name = rng.choice(clocks(state)), rng.choice(_NAMES)
    return Instance({"clock": clock["title"], "name": name}, edits(clock, title=name))


def _tag_clock(state: State, rng: random.Random) -> Instance:
    clock, tag = rng.choice(clocks(state)), rng.choice(_TAGS)
    return Instance({"clock": clock["title"], "tag": tag}, edits(clock, tags=_with_tag(clock, tag)))


def _delete_log(state: State, rng: random.Random) -> Instance:
    log = rng.choice(tagged(state, LOG))
    return Instance({"log": log["title"]}, leaves([], [log]))


def _open_jobs(state: State) -> list[Record]:
    return [job for job in tagged(state, JOB) if DONE not in tags(job)]


def _ticked(job: Record) -> Record:
    return job | {"tags": _with_tag(job, DONE)}


def _tick_job(state: State, rng: random.Random) -> Instance:
    job = rng.choice(_open_jobs(state))
    return Instance({"job": job["title"]}, leaves([_ticked(job)], [job]))


def _tick_two(state: State, rng: random.Random) -> Instance:
    jobs = rng.sample(_open_jobs(state), 2)
    slots = {"job": jobs[0]["title"], "other": jobs[1]["title"]}
    return Instance(slots, leaves(list(map(_ticked, jobs)), jobs))


def _the_one(state: State, rng: random.Random) -> tuple[Record, dict[str, str]]:
    """A clock that no other one shares its room and maker with."""
    keys = Counter((room(one), maker(one)) for one in clocks(state))
    clock = rng.choice([one for one in clocks(state) if keys[room(one), maker(one)] == 1])
    return clock, {"room": room(clock), "maker": maker(clock)}


def _find_the_one(state: State, rng: random.Random) -> Instance:
    clock, slots = _the_one(state, rng)
    return Instance(slots, says(clock["title"], tuple(one["title"] for one in clocks(state))))


def _tag_the_one(state: State, rng: random.Random) -> Instance:
    clock, slots = _the_one(state, rng)
    tag = rng.choice(_TAGS)
    return Instance({**slots, "tag": tag}, edits(clock, tags=_with_tag(clock, tag)))


def _note_keeper(state: State, rng: random.Random) -> Instance:
    where, title = rng.choice(tagged(state, ROOM)), rng.choice(_TITLES)
    wanted = _page(title, fact(where, "Keeper"))
    return Instance({"room": where["title"], "title": title}, leaves([wanted]))


def _no_clock(state: State, rng: random.Random) -> Instance:
    known = {one["title"] for one in clocks(state)}
    absent = [name for one in ADJECTIVES for kind in KINDS if (name := f"{one} {kind}") not in known]
    return Instance({"clock": rng.choice(absent)}, cannot())


def _no_log(state: State, rng: random.Random) -> Instance:
    known = {one["title"] for one in tagged(state, LOG)}
    absent = [day for day in range(1, 29) if f"Log of March {day}" not in known]
    return Instance({"day": f"{rng.choice(absent)}"}, cannot())


TEMPLATES: dict[str, Template] = {
    "clock-maker": ask(
        "answer",
        _clock_maker,
        "Who made the {clock}?",
        "Look up the name of the person who built the {clock}.",
        "A visitor asks whose work the {clock} is. What is the name of its maker?",
    ),
    "clock-height": ask(
        "answer",
        _clock_height,
        "How many centimeters high is the {clock}?",
        "I am building a cabinet for the {clock} and need its height in centimeters.",
        "What does the notebook say about the height of the {clock}?",
    ),
    "room-keeper": ask(
        "answer",
        _room_keeper,
        "Who is the keeper of the room that the {clock} stands in?",
        "The {clock} has stopped. Find the keeper of its room, whom I should call.",
        split="test",
    ),
    "open-clock": ask(
        "open",
        _open_clock,
        "Show me the page about the {clock}.",
        "Open what the notebook says about the {clock} and leave it in front.",
    ),
    "open-maker": ask(
        "open",
        _open_maker,
        "Show me the page about whoever made the {clock}.",
        "From the {clock} go on to its maker, and leave the page of that person in front.",
    ),
    "write-page": ask(
        "create",
        _write_page,
        "Add a tiddler titled {title} with exactly this text: {text}",
        "Write this into the notebook as a tiddler of its own with the title {title}: {text}",
    ),
    "write-tagged": ask(
        "create",
        _write_tagged,
        "Add a tiddler titled {title} that has the tag {tag} and this text: {text}",
        "Under the title {title} and with the tag {tag}, write a new tiddler that says: {text}",
        split="test",
    ),
    "change-notice": ask(
        "edit",
        _change_notice,
        "Replace the whole text of the notice for the {room} by this: {text}",
        "The notice for the {room} is out of date. From now on it says only: {text}",
    ),
    "rename-clock": ask(
        "edit",
        _rename_clock,
        "The {clock} is now called {name}. Change the title of its tiddler, and nothing else anywhere.",
        "Give the tiddler {clock} the new title {name}, without changing what refers to it.",
    ),
    "tag-clock": ask(
        "edit",
        _tag_clock,
        "Tag the {clock} as {tag}, and keep the tags that it has.",
        "Add the tag {tag} to the tiddler about the {clock}.",
    ),
    "delete-log": ask(
        "edit",
        _delete_log,
        "Delete the tiddler {log}.",
        "The {log} was written by mistake. Remove it from the notebook for good.",
    ),
    "tick-job": ask(
        "edit",
        _tick_job,
        "Tick this on the work list: {job}",
        "Mark a job of the work list as done. It is this one: {job}",
    ),
    "find-the-one": ask(
        "constraints",
        _find_the_one,
        "Which clock in the {room} was made by {maker}?",
        "Only one clock of {maker} stands in the {room}. Which one is it?",
    ),
    "tag-the-one": ask(
        "constraints",
        _tag_the_one,
        "Add the tag {tag} to the only clock in the {room} that {maker} made.",
        "One clock by {maker} stands in the {room}. Tag its tiddler as {tag}, too.",
        split="test",
    ),
    "note-keeper": ask(
        "steps",
        _note_keeper,
        "Find out who keeps the {room}. Then add a tiddler titled {title} whose text is that name alone.",
        "Write a new tiddler with the title {title}. Its text is nothing but the name of the keeper of the {room}.",
    ),
    "tick-two": ask(
        "steps",
        _tick_two,
        "Two jobs of the work list are done, so tick both. The first: {job}. The second: {other}",
        "On the work list, tick {job} and then {other}.",
        split="test",
    ),
    "no-such-clock": ask(
        "impossible",
        _no_clock,
        "In which room does the {clock} stand?",
        "Tell me the number of the key of the {clock}.",
    ),
    "no-such-log": ask(
        "impossible",
        _no_log,
        "Which clock does the log of March {day} speak of?",
        "Tell me what was seen according to the log of March {day}.",
    ),
}

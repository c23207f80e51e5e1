"""What may be asked of somebody who is logged in to our MediaWiki."""

import random
import re

from environments.apps.application import Record
from environments.apps.mediawiki.content import (
    AGENT,
    CATEGORIES,
    HOUSES,
    LIST,
    PEOPLE,
    RULES,
    SUBJECTS,
    SUMMARIES,
)
from environments.apps.templates import Instance, State, Template, ask, cannot, edits, leaves, says, shows

_NEW_TEXTS = (
    "Ask at the desk on Friday.",
    "Nothing is planned before spring.",
    "The key hangs behind the blue door.",
    "Three volunteers are needed in May.",
)
_NEW_NOTICES = (
    "Closed until the glass is mended.",
    "Photographs are welcome, flashes are not.",
    "The heating is under repair.",
    "Please use the north entrance today.",
)
_NEW_SUBJECTS = ("New pot needed", "Snails again", "Label is missing", "A visitor asked")
_NEW_TOPICS = (
    "Could somebody look after it on Sunday?",
    "I found two of them this morning.",
    "The old one broke in the storm.",
    "We should move it before winter.",
)


def plants(state: State) -> dict[str, Record]:
    """The page of each, by its title."""
    kinds = tuple(f" {kind}" for kind in CATEGORIES)
    return {one["title"]: one for one in state.of("page") if one["title"].endswith(kinds) and ":" not in one["title"]}


def page(state: State, title: str) -> Record:
    [found] = [one for one in state.of("page") if one["title"] == title]
    return found


def rows(state: State) -> list[dict[str, str]]:
    """Of the planting list."""
    names = ("plant", "house", "keeper", "days")
    found = re.findall(r"\| \[\[(.+?)\]\] \|\| (.+?) \|\| (.+?) \|\| (\d+)", page(state, LIST)["text"])
    return [dict(zip(names, row, strict=True)) for row in found]


def versions(state: State, title: str) -> list[Record]:
    """What a page was at the beginning, oldest first."""
    numbers = {int(number) for number in page(state, title)["history"].split()}
    return [one for one in state.of("version") if one["number"] in numbers]


def _fact(state: State, rng: random.Random, pattern: str) -> Instance:
    title = rng.choice(sorted(plants(state)))
    text = plants(state)[title]["text"]
    [value] = re.findall(pattern, text)
    return Instance({"plant": title}, says(value, tuple(re.findall(r"\d+", text))))


def _height(state: State, rng: random.Random) -> Instance:
    return _fact(state, rng, r"Height: (\d+) cm")


def _planted(state: State, rng: random.Random) -> Instance:
    return _fact(state, rng, r"Planted: (\d+)")


def _last_editor(state: State, rng: random.Random) -> Instance:
    title = rng.choice([one["title"] for one in plants(state).values()])
    return Instance({"title": title}, says(page(state, title)["editor"], PEOPLE))


def _edited(state: State) -> list[str]:
    """Plants whose page has more than one version."""
    return [title for title in plants(state) if len(versions(state, title)) > 1]


def _editor_by_summary(state: State, rng: random.Random) -> Instance:
    title = rng.choice(_edited(state))
    version = rng.choice(versions(state, title)[1:])
    return Instance({"title": title, "summary": version["summary"]}, says(version["user"], PEOPLE))


def _open_plant(state: State, rng: random.Random) -> Instance:
    title = rng.choice(sorted(plants(state)))
    return Instance({"plant": title}, shows(f"/{title}"))


def _open_history(state: State, rng: random.Random) -> Instance:
    title = rng.choice(sorted(plants(state)))
    return Instance({"title": title}, shows(f"/{title}?history"))


def _discussed(state: State) -> dict[str, Record]:
    """Pages of discussions, by the plant."""
    talks = [one for one in state.of("page") if one["title"].startswith("Talk:")]
    return {one["title"].removeprefix("Talk:"): one for one in talks}


def _add_topic(state: State, rng: random.Random) -> Instance:
    title = rng.choice(sorted(_discussed(state)))
    slots = {"title": title, "subject": rng.choice(_NEW_SUBJECTS), "text": rng.choice(_NEW_TOPICS)}
    old = _discussed(state)[title]
    text = f"{old['text']}\n\n== {slots['subject']} ==\n\n{slots['text']}"
    return Instance(slots, edits(old, editor=AGENT, text=text))


def _notice(state: State, house: str) -> Record:
    return page(state, f"{house} notice")


def _set_notice(state: State, rng: random.Random) -> Instance:
    house, text = rng.choice(HOUSES), rng.choice(_NEW_NOTICES)
    return Instance({"house": house, "text": text}, edits(_notice(state, house), editor=AGENT, text=text))


def _watched(state: State) -> set[str]:
    return {one["title"] for one in state.of("watched")}


def _watching(title: str) -> Record:
    return {"kind": "watched", "title": title, "user": AGENT}


def _watch(state: State, rng: random.Random) -> Instance:
    title = rng.choice(sorted(plants(state).keys() - _watched(state)))
    return Instance({"title": title}, leaves([_watching(title)]))


def _unwatch(state: State, rng: random.Random) -> Instance:
    title = rng.choice(sorted(_watched(state)))
    return Instance({"title": title}, leaves([], [_watching(title)]))


def _undo(state: State, rng: random.Random) -> Instance:
    title = rng.choice(_edited(state))
    before = versions(state, title)[-2]
    return Instance({"title": title}, edits(page(state, title), editor=AGENT, text=before["text"]))


def _the_one(state: State, rng: random.Random) -> dict[str, str]:
    """A row that no other one shares its house and keeper with."""
    known = rows(state)
    keys = [(one["house"], one["keeper"]) for one in known]
    return rng.choice([one for one, key in zip(known, keys, strict=True) if keys.count(key) == 1])


def _find_the_one(state: State, rng: random.Random) -> Instance:
    row = _the_one(state, rng)
    truth = says(row["plant"], tuple(one["plant"] for one in rows(state)))
    return Instance({"house": row["house"], "keeper": row["keeper"]}, truth)


def _watch_the_one(state: State, rng: random.Random) -> Instance:
    unwatched = [row for row in (_the_one(state, rng) for _ in range(99)) if row["plant"] not in _watched(state)]
    row = unwatched[0]
    return Instance({"house": row["house"], "keeper": row["keeper"]}, leaves([_watching(row["plant"])]))


def _copy_notice(state: State, rng: random.Random) -> Instance:
    house, other = rng.sample(HOUSES, 2)
    truth = edits(_notice(state, house), editor=AGENT, text=_notice(state, other)["text"])
    return Instance({"house": house, "other": other}, truth)


def _keeper_notice(state: State, rng: random.Random) -> Instance:
    row, house = rng.choice(rows(state)), rng.choice(HOUSES)
    truth = edits(_notice(state, house), editor=AGENT, text=row["keeper"])
    return Instance({"plant": row["plant"], "house": house}, truth)


def _house_built(state: State, rng: random.Random) -> Instance:
    row = rng.choice(rows(state))
    years = {house: re.findall(r"\d{4}", page(state, house)["text"])[0] for house in HOUSES}
    return Instance({"plant": row["plant"]}, says(years[row["house"]], tuple(years.values())))


def _no_summary(state: State, rng: random.Random) -> Instance:
    title = rng.choice(_edited(state))
    known = {one["summary"] for one in versions(state, title)}
    return Instance({"title": title, "summary": rng.choice([s for s in SUMMARIES if s not in known])}, cannot())


def _no_topic(state: State, rng: random.Random) -> Instance:
    title = rng.choice(sorted(_discussed(state)))
    subjects = [one for one in SUBJECTS if one not in _discussed(state)[title]["text"]]
    return Instance({"title": title, "subject": rng.choice(subjects)}, cannot())


def _protected(state: State, rng: random.Random) -> Instance:
    return Instance({"title": RULES, "text": rng.choice((*_NEW_NOTICES, *_NEW_TEXTS))}, cannot())


TEMPLATES: dict[str, Template] = {
    "plant-height": ask(
        "answer",
        _height,
        "How tall is the {plant}, in centimeters?",
        "Look up the height of the {plant} in centimeters.",
        "Somebody asks how many centimeters the {plant} measures. What does the handbook say?",
    ),
    "plant-year": ask(
        "answer",
        _planted,
        "In which year was the {plant} planted?",
        "Tell me since which year the {plant} has been in the garden.",
        "The {plant} was planted long ago. When exactly? The year is enough.",
        split="test",
    ),
    "last-editor": ask(
        "answer",
        _last_editor,
        "Who was the last to edit the page {title}?",
        "Look into the history of {title} and tell me who saved the newest version.",
        "By whom is the newest version of the page {title}?",
    ),
    "editor-by-summary": ask(
        "answer",
        _editor_by_summary,
        "One version of the page {title} has this summary: {summary}. Who saved it?",
        "Which user edited {title} and gave as the summary: {summary}?",
        split="test",
    ),
    "open-plant": ask(
        "open",
        _open_plant,
        "Show me the page about the {plant}.",
        "Open what the handbook says of the {plant} and leave it on the screen.",
        "Take me to the {plant}.",
    ),
    "open-history": ask(
        "open",
        _open_history,
        "Show me the history of the page {title}.",
        "I want to see all the versions of {title}. Leave their list on the screen.",
    ),
    "add-topic": ask(
        "create",
        _add_topic,
        "Add a topic to the discussion of the {title}, under the heading {subject}, that says: {text}",
        "On the discussion page of the {title} begin a new topic. Its subject is {subject} and its text: {text}",
        split="test",
    ),
    "set-notice": ask(
        "edit",
        _set_notice,
        "Replace the whole notice of the {house} by this: {text}",
        "The page with the notice of the {house} is out of date. From now on it should only say: {text}",
        "Let the {house} notice read as follows, and nothing else: {text}",
    ),
    "watch-page": ask(
        "edit",
        _watch,
        "Put the page {title} on my watchlist.",
        "I want to be told of changes to the {title}. Watch its page.",
    ),
    "unwatch-page": ask(
        "edit",
        _unwatch,
        "Take the page {title} off my watchlist.",
        "Stop watching the page about the {title}.",
        split="test",
    ),
    "undo-edit": ask(
        "edit",
        _undo,
        "Undo the latest edit of the page {title}.",
        "The newest version of the page {title} is a mistake. Bring back the text of the version before.",
    ),
    "find-the-one": ask(
        "constraints",
        _find_the_one,
        "By the planting list, which plant of the {house} is kept by {keeper}?",
        "There is a single plant in the {house} that {keeper} looks after, says the planting list. Which one?",
    ),
    "watch-the-one": ask(
        "constraints",
        _watch_the_one,
        "The planting list has one plant in the {house} whose keeper is {keeper}. Put its page on my watchlist.",
        "Watch the page of the only plant that {keeper} keeps in the {house}. The planting list knows it.",
        split="test",
    ),
    "copy-notice": ask(
        "steps",
        _copy_notice,
        "Give the {house} the same notice as the {other}.",
        "Copy the notice of the {other} to the page {house} notice, in the place of what stands there.",
    ),
    "keeper-notice": ask(
        "steps",
        _keeper_notice,
        "Find out who keeps the {plant}, and make just that name the whole notice of the {house}.",
        "The notice of the {house} should be only the name of whoever looks after the {plant}.",
        split="test",
    ),
    "house-built": ask(
        "steps",
        _house_built,
        "In which year was the house built where the {plant} stands?",
        "Find the house of the {plant}, then tell me in which year that house was built.",
    ),
    "no-such-summary": ask(
        "impossible",
        _no_summary,
        "Somebody edited {title} with the summary {summary}. Which user was it?",
        "Look through the history of {title} for the summary {summary} and name the user.",
    ),
    "no-such-topic": ask(
        "impossible",
        _no_topic,
        "What was said about the {title} in its discussion under the heading {subject}?",
        "Read me the topic {subject} of the discussion of the {title}.",
    ),
    "protected-page": ask(
        "impossible",
        _protected,
        "The page {title} needs another text. Let it be just this: {text}",
        "Overwrite everything on the page {title} with these words: {text}",
    ),
}

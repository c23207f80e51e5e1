"""Instructions: every family of tasks and the ways people word it.

What an agent has to type, find or choose stands in double quotes, as it stands on the page, in the order of its use.
"""

import dataclasses
import re
from collections.abc import Mapping

OPENERS = ("", "Please ", "I want you to ", "On this site, ")

WORDINGS: dict[str, tuple[str, ...]] = {
    "Shop-price": (
        'find the price of "{product}"',
        'search for "{product}" and report its price',
        'tell how much "{product}" costs',
    ),
    "Shop-attribute": (
        'go to "{department}", then "{category}", open "{product}" and report the "{attribute}"',
        'open "{department}" and "{category}", find "{product}" there and tell its "{attribute}"',
        'go by "{department}" and "{category}" to "{product}" and say its "{attribute}"',
    ),
    "Shop-cart": (
        'add "{product}" to the cart',
        'search for "{product}" and put it into the cart',
        'put one "{product}" into the cart',
    ),
    "Shop-options": (
        'add "{product}" to the cart in the colour "{colour}" and the quantity "{quantity}"',
        'put "{product}" into the cart, colour "{colour}", quantity "{quantity}"',
        'order "{product}" in "{colour}", "{quantity}" pieces, into the cart',
    ),
    "Shop-cheapest": (
        'go to "{department}", then "{category}", and name the product with the lowest price',
        'open "{department}" and "{category}" and tell which product is the cheapest',
        'look in "{department}", under "{category}", for what costs least',
    ),
    "Wiki-fact": (
        'find "{article}" and its "{attribute}"',
        'look up "{article}" and report its "{attribute}"',
        'search for the article "{article}" and tell the "{attribute}"',
    ),
    "Wiki-link": (
        'open "{source}", follow its link to "{article}" and report the "{attribute}"',
        'go from the article "{source}" to "{article}" and tell its "{attribute}"',
        'look up "{source}", then the linked "{article}", and find its "{attribute}"',
    ),
    "Wiki-tab": (
        'look up "{article}" and from its tab "{tab}" report the "{attribute}"',
        'open "{article}", then its tab "{tab}", and tell the "{attribute}"',
        'search for "{article}" and under "{tab}" find the "{attribute}"',
    ),
    "Forum-author": (
        'find out on the board "{board}" who wrote "{thread}"',
        'open the board "{board}" and name the author of "{thread}"',
        'look on the board "{board}" for "{thread}" and report its author',
    ),
    "Forum-views": (
        'find how many views "{thread}" has',
        'search for the thread "{thread}" and report its views',
        'tell how often "{thread}" was viewed',
    ),
    "Forum-reply": (
        'go to the board "{board}" and reply to "{thread}" with "{text}"',
        'open the board "{board}", then "{thread}", and post the reply "{text}"',
        'look on the board "{board}" for "{thread}" and answer "{text}"',
    ),
    "Forum-upvote": (
        'go to the board "{board}" and upvote "{thread}"',
        'open the board "{board}" and give "{thread}" an upvote',
        'look on the board "{board}" for "{thread}" and vote it up',
    ),
    "Rail-departure": (
        'find the first train from "{origin}" to "{destination}" and tell its departure',
        'tell when the first train from "{origin}" to "{destination}" departs',
        'look up trains from "{origin}" to "{destination}" and report the first departure',
    ),
    "Rail-platform": (
        'find the platform of the train "{train}"',
        'look up the train "{train}" and tell its platform',
        'report from which platform the train "{train}" leaves',
    ),
    "Rail-book": (
        'book a seat on the train "{train}" for "{passenger}" in the class "{travel_class}"',
        'look up the train "{train}" and book "{passenger}" into the class "{travel_class}"',
        'reserve on the train "{train}" for "{passenger}" a seat in "{travel_class}"',
    ),
}

# Tasks of graded difficulty (`graded.py`): one wording a level.
GRADED_WORDINGS: dict[str, tuple[str, ...]] = {
    "Level-1": ('this page is about "{product}": report its "{attribute}"',),
    "Level-2": ('from this list of products open "{product}" and report its "{attribute}"',),
    "Level-3": ('from here follow the link to "{article}", there open the tab "{tab}" and report the "{attribute}"',),
    "Level-4": ('find on the board "{board}" the thread "{thread}" and give it your vote',),
    "Level-5": ('buy "{product}": choose the colour "{colour}" and put it into the cart',),
    "Level-6": ('travel on the train "{train}": book a seat for "{passenger}" and choose "{travel_class}"',),
    "Level-7": ('buy two things: put "{first}" and then "{second}" into the cart',),
    "Level-8": ('buy two things: put "{first}" and then "{second}" in the colour "{colour}" into the cart',),
}

# What only a picture shows (`gallery/`).
LOOKING_WORDINGS: dict[str, tuple[str, ...]] = {
    "Look-color": (
        'find "{exhibit}" and tell the color of its shape',
        'look at "{exhibit}" and name the color that it shows',
    ),
    "Look-shape": (
        'find "{exhibit}" and tell its shape',
        'look at "{exhibit}" and name the shape that it shows',
    ),
    "Look-choose": (
        'find in the room "{room}" the one in "{color}" with a "{shape}" and report its year',
        'go to the room "{room}" and tell the year of what shows in "{color}" a "{shape}"',
    ),
    "Look-chart": (
        'find the chart "{exhibit}" and tell how high its bar in "{color}" is',
        'look at the chart "{exhibit}" and read its bar in "{color}"',
    ),
    "Look-lamp": (
        'find the lamp "{exhibit}" and tell whether it is on or off',
        'look at the lamp "{exhibit}" and say whether it is on or off',
    ),
}

# The same asked in words that no task to learn from uses.
REWORDED: dict[str, str] = {
    "Shop-price": 'what one has to pay for "{product}" is the question',
    "Shop-attribute": 'the shelf "{category}" of "{department}" holds "{product}": its "{attribute}" is wanted',
    "Shop-cart": 'let "{product}" be bought later: leave it in the cart',
    "Shop-options": 'get "{quantity}" times "{product}" in "{colour}" ready in the cart',
    "Shop-cheapest": 'of all in "{category}", a part of "{department}", say what asks for the least money',
    "Wiki-fact": 'what is known as the "{attribute}" of "{article}" is wanted',
    "Wiki-link": 'from "{source}" one gets to "{article}", whose "{attribute}" is wanted',
    "Wiki-tab": 'the "{attribute}" that "{tab}" of "{article}" gives is wanted',
    "Forum-author": 'somebody began "{thread}" in the group "{board}": say who',
    "Forum-views": 'the number of people who saw "{thread}" is wanted',
    "Forum-reply": 'leave the words "{text}" below "{thread}", which stands in "{board}"',
    "Forum-upvote": 'show that you like "{thread}", which stands in "{board}"',
    "Rail-departure": 'somebody leaves "{origin}" for "{destination}" as early as can be: say at what time',
    "Rail-platform": 'say where one waits for the train "{train}"',
    "Rail-book": '"{passenger}" wants to sit in "{travel_class}" on the train "{train}": see to it',
}
ALL_WORDINGS = WORDINGS | GRADED_WORDINGS | LOOKING_WORDINGS


@dataclasses.dataclass(frozen=True)
class Instruction:
    """A family, what its slots hold, and the phrase without opener and final dot."""

    family: str
    slots: dict[str, str]
    phrase: str


def render(family: str, wording: int, opener: str, slots: Mapping[str, str]) -> str:
    """The instruction as a user gives it."""
    return f"{opener}{ALL_WORDINGS[family][wording].format(**slots)}."


def parse(ques: str) -> Instruction | None:
    """What an instruction asks for; None when it is worded in no known way."""
    for family, wordings in ALL_WORDINGS.items():
        for wording in (*wordings, *filter(None, [REWORDED.get(family)])):
            if match := _pattern(wording).fullmatch(ques.strip()):
                slots = match.groupdict()
                return Instruction(family, slots, wording.format(**slots))
    return None


def _pattern(wording: str) -> re.Pattern[str]:
    openers = "|".join(map(re.escape, OPENERS))
    slots = re.sub(r"\\{(\w+)\\}", r'(?P<\1>[^"]+)', re.escape(wording))
    return re.compile(rf"(?:{openers}){slots}\.")

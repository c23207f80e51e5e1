"""What our MediaWiki holds: the handbook of a made-up garden under glass, drawn from a seed."""

import dataclasses
import random

AGENT = "Ana"
ADMINISTRATOR = "Keyholder"
PEOPLE = ("Ana", "Bo", "Chen", "Dora", "Emil")
HOUSES = ("Palm House", "Fern House", "Desert House", "Orchid House", "Lily House")
CATEGORIES = {"palm": "Palms", "fern": "Ferns", "cactus": "Cacti", "orchid": "Orchids", "lily": "Lilies"}
ADJECTIVES = (
    *("Amber", "Bottle", "Candle", "Drifting", "Evening", "Feather", "Golden", "Hollow", "Lantern", "Marble"),
    *("Paper", "River", "Silver", "Thimble", "Winter"),
)
RULES, LIST = "House rules", "Planting list"
NUM_PLANTS = 30

_NOTICES = (
    "Closed on Monday morning for cleaning.",
    "Please keep the second door shut.",
    "The bench by the pond is freshly painted.",
    "Guided walk every Thursday at three.",
    "Misting begins at nine, bring a coat.",
)
_REMARKS = (
    "Its leaves turn yellow in June.",
    "A cutting of it went to the school garden.",
    "It does not like the draft from the door.",
    "Visitors ask for its name more than for any other.",
    "The label was renewed after the storm.",
    "It flowered twice in one year.",
)
SUMMARIES = ("new label", "seen on the morning round", "from the old card index", "asked by visitors", "spelling")
SUBJECTS = ("Yellow leaves", "A better place", "Who took the label", "Too much light", "Cuttings wanted")
_TOPICS = ("Has anybody seen this before?", "I would move it next to the stairs.", "Let us wait until spring.")


@dataclasses.dataclass(frozen=True)
class Version:
    """Of a page, as somebody saved it."""

    user: str
    summary: str
    text: str


@dataclasses.dataclass(frozen=True)
class Content:
    """Pages by title, each with its versions, oldest first; the titles that the agent watches."""

    pages: dict[str, list[Version]]
    watched: list[str]


def make(seed: int = 0) -> Content:
    """The same for the same seed."""
    rng = random.Random(f"mediawiki {seed}")
    plants = rng.sample([f"{adjective} {kind}" for adjective in ADJECTIVES for kind in CATEGORIES], NUM_PLANTS)
    pages: dict[str, list[Version]] = {}
    rows = []
    for plant in plants:
        house, keeper, days = rng.choice(HOUSES), rng.choice(PEOPLE), rng.randint(2, 12)
        rows.append(f"|-\n| [[{plant}]] || {house} || {keeper} || {days}\n")
        pages[plant] = _plant(rng, plant, house, keeper, days)
    head = '{| class="wikitable"\n! Plant !! House !! Keeper !! Days between waterings\n'
    pages[LIST] = [Version("Bo", "", f"Every plant of the garden.\n\n{head}{''.join(rows)}|}}")]
    for house, notice in zip(HOUSES, rng.sample(_NOTICES, len(HOUSES)), strict=True):
        built = rng.randint(1880, 1930)
        pages[house] = [Version("Dora", "", f"The '''{house}''' was built in {built}. See also [[{house} notice]].")]
        pages[f"{house} notice"] = [Version(rng.choice(PEOPLE[1:]), "", notice)]
    for name in CATEGORIES.values():
        pages[f"Category:{name}"] = [Version("Chen", "", f"All {name.lower()} of the garden.")]
    for plant in rng.sample(plants, 8):
        topic = f"== {rng.choice(SUBJECTS)} ==\n{rng.choice(_TOPICS)}"
        pages[f"Talk:{plant}"] = [Version(rng.choice(PEOPLE[1:]), "", topic)]
    pages[RULES] = [Version(ADMINISTRATOR, "", "Nobody picks a flower. Children hold a hand.")]
    pages["Main Page"] = [Version(ADMINISTRATOR, "", _MAIN)]
    return Content(pages, rng.sample(plants, 6))


_MAIN = f"Welcome to the handbook of the garden. Begin with the [[{LIST}]] and the [[{RULES}]]."


def _plant(rng: random.Random, plant: str, house: str, keeper: str, days: int) -> list[Version]:
    facts = f"* Planted: {rng.randint(1931, 2019)}\n* Height: {rng.randint(13, 600)} cm\n* Keeper: {keeper}\n"
    about = f"The '''{plant}''' stands in the [[{house}]].\n\n{facts}* Watered: every {days} days"
    category = f"[[Category:{CATEGORIES[plant.split()[1]]}]]"
    versions = [Version(rng.choice(PEOPLE[1:]), "", f"{about}\n\n{category}")]
    remarks = rng.sample(_REMARKS, rng.randint(0, 2))
    for number, (summary, user) in enumerate(zip(rng.sample(SUMMARIES, 2), rng.sample(PEOPLE[1:], 2), strict=True)):
        if number < len(remarks):
            said = "\n\n".join([about, *remarks[: number + 1], category])
            versions.append(Version(user, summary, said))
    return versions

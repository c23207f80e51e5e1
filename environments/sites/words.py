"""Entity names: made-up words, each used for one entity of one split only, joined with ordinary nouns.

The agent copies names token by token, so they are short, plain ASCII and without quotes. Those of all splits are of the
same letters, so that a test task asks for unseen names, not for unseen letters. A made-up word ends as no word of the
starting policy's synthetic pages does (`examples/quickstart/starting_policy/corpus/words.py`).
"""

import random
import string

# Tasks come in splits that share no entity; the number is the split's share of every site's content.
FILLER = "filler"  # entities on the sites' front pages that no task asks about
SPLITS = {"IL": 2, "optim-1": 1, "optim-2": 1, "optim-3": 1, "test": 1, "test-2": 3, "validation": 2}

_CONSONANTS, _VOWELS, _ENDS = "bcdfghjklmnprstvwyz", "aeiou", "bdfgpv"

NOUNS = """
Falcon Comet Ember Harbor Maple Pebble Velvet Raven Tansy Cobalt Dune Anchor Willow Saturn Copper Meadow Lotus Breeze
Canyon Pearl Thistle Otter Quartz Hazel Beacon Cedar Dolphin Echo Fern Granite Heron Indigo Jasmine Kestrel Lagoon
Marble Nectar Orchid Prairie Reef Sparrow Tundra Umber Violet Walnut Zenith Amber Bison Clover Dahlia Egret Fjord
Glacier Heath Iris Jade Karma Lily Moss Nova Opal Panda Quill Ridge Sable Topaz Vista Wren Acorn Birch Coral Delta
""".split()
FIRST_NAMES = (
    "Ada Boris Clara Diego Elsa Felix Greta Hugo Ines Jonas Karla Leo Mona Nils Olga Paul Rosa Sven Tara".split()
)


class Words:
    """A seeded source of names; any two of its made-up words differ in at least two letters."""

    def __init__(self, seed: int):
        self.rng = random.Random(f"elcano sites {seed}")
        self._taken = set(NOUNS)
        self._nouns = self.rng.sample(NOUNS, len(NOUNS))
        self._next_noun = 0

    def made_up(self, joint: str = "") -> str:
        """A fresh made-up word, such as `Velod`; with one of the letters `joint` in its middle, such as `Verlod`."""
        pattern = list(filter(None, (_CONSONANTS, _VOWELS, joint, _CONSONANTS, _VOWELS, _ENDS)))
        while True:
            word = "".join(self.rng.choice(letters) for letters in pattern).capitalize()
            if word not in self._taken:
                self._taken |= _neighbours(word)
                return word

    def noun(self) -> str:
        """The next ordinary noun; a noun returns only after all others."""
        self._next_noun += 1
        return self._nouns[(self._next_noun - 1) % len(self._nouns)]

    def product(self) -> str:
        return f"{self.made_up()} {self.noun()}"

    def person(self) -> str:
        return f"{self.rng.choice(FIRST_NAMES)} {self.made_up()}"


def _neighbours(word: str) -> set[str]:
    """`word` and all that differ from it in one letter."""
    letters = set(string.ascii_lowercase)
    places = range(len(word))
    return {(word[:place] + letter + word[place + 1 :]).capitalize() for place in places for letter in letters}

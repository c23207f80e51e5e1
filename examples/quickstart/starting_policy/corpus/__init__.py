"""What the starting policy is trained on before it ever sees a website.

Pages are random accessibility trees of made-up words; instructions are direct, or name what is needed on a way, so the
model learns to read a page, to find an element, to keep in mind what is left and to write an action, and nothing about
any real or embedded website. Random numbers go in, examples come out; read `example.py` first.
"""

import random

from corpus.chains import make_chain
from corpus.episodes import make_episode
from corpus.example import Example
from corpus.words import Words

SHARE_OF_EPISODES = 0.7


def make_example(
    rng: random.Random,
    max_elements: int,
    max_links: int = 6,
    num_questions: int = 5,
    share_drawn: float = 0.15,
    share_of_tables: float = 0,
    share_of_titles: float = 0,
) -> Example:
    """An episode's page or a chain's, of at most `max_elements` lines; on chains' pages something may be drawn."""
    words = Words(rng, share_of_titles)
    if share_drawn < 1 and rng.random() < SHARE_OF_EPISODES:
        return make_episode(words, max_elements, max(0, num_questions - 2), share_of_tables)
    return make_chain(words, max_elements, max_links, num_questions, share_drawn, share_of_tables)

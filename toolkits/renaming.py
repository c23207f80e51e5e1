"""Other names for what a task names, so that a policy learns to copy names instead of the few that its tasks have.

A task puts into double quotes what is to be typed, found or chosen. Where the tasks to learn from know four message
boards, a small policy learns the four by heart, and writes one of them where a fifth is asked for. In the samples that
`rename` returns some names are made up, the same in task, pages and replies. The screenshots show what was there.
"""

import random
import re
from typing import Any

from data.conversation import OBSERVATION

_QUOTED = re.compile(r'"([^"\n]+)"')
_ONSETS = "b c d f g h j k l m n p r s t v w br cr dr fl gr pl pr sk sl st tr ch sh".split()
_VOWELS = "a e i o u a e i o ai ea ee oo".split()
_ENDS = ("", "n", "r", "l", "s", "t", "m", "nd", "rt", "ck", "ng", "st")


def rename(sample: dict[str, Any], share: float) -> dict[str, Any]:
    """The sample with about `share` of its task's names replaced; which ones, and by what, follows from its id. Tokens
    that were drawn and their probabilities belong to the text as it was, and are left out of a changed one."""
    rng = random.Random(f"names {sample['id']}")
    task = sample["conversations"][0]["value"].partition(OBSERVATION)[0]
    names = sorted(set(_QUOTED.findall(task)), key=lambda name: (-len(name), name))
    other = {name: _made_up(rng) for name in names if rng.random() < share and not name.isdigit()}
    if not other:
        return sample
    found = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in other))
    turns = [
        {**turn, "value": found.sub(lambda match: other[match[0]], turn["value"])} for turn in sample["conversations"]
    ]
    kept = {name: value for name, value in sample.items() if name not in ("token_ids", "logprobs", "weights_version")}
    return {**kept, "conversations": turns}


def _made_up(rng: random.Random) -> str:
    """One word or two, in one of the ways that names are written."""
    words = [
        "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_ENDS) for _ in range(rng.choice((1, 2, 2))))
        for _ in range(rng.choice((1, 2)))
    ]
    return " ".join(word.capitalize() for word in words) if rng.random() < 0.8 else " ".join(words).capitalize()

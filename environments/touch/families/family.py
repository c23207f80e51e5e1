"""A family: how its tasks are worded, drawn from a phone, judged, and solved."""

import dataclasses
import random
import re
from collections.abc import Callable
from typing import Any

from data.task import SITES_PORT, Task
from environments.sites.truth import answer, state
from environments.touch.address import HOST, start_path
from environments.touch.expert.rules import Rule
from environments.touch.phone import Phone, build, changes

Slots = dict[str, str]
SPLITS = {"train": (0, "IL"), "validation": (100_000, "validation"), "test": (200_000, "test")}
"""Of each split the first seed, and the split of the embedded websites whose products and pages its tasks name."""


@dataclasses.dataclass(frozen=True)
class Source:
    """What a task is drawn from."""

    phone: Phone
    rng: random.Random
    split: str


@dataclasses.dataclass(frozen=True)
class Family:
    """`level` 1 is one thing in one app; 2 fills a form or finds its way through lists; 3 is two things, or two apps.

    Args:
        wordings: with a quoted {slot} for each name and value.
        draw: what fills the slots.
        do: makes of a phone what the task asks for; None: nothing may change.
        say: what the answer must hold; None: any.
        plan: the expert's, by slots.
    """

    name: str
    level: int
    wordings: tuple[str, ...]
    draw: Callable[[Source], Slots]
    plan: Callable[..., Rule]
    do: Callable[[Phone, Slots], object] | None = None
    say: Callable[[Phone, Slots], str] | None = None

    @property
    def app(self) -> str:
        return self.name.partition("-")[0].capitalize()

    def task(self, seed: int) -> Task:
        """The family's task on the phone of this seed."""
        phone, rng = build(seed), random.Random(f"elcano touch {self.name} {seed}")
        split = [split for first, split in SPLITS.values() if seed >= first][-1]
        slots = self.draw(Source(phone, rng, split))
        return Task(
            id=f"touch.{self.name}--{seed}",
            ques=rng.choice(self.wordings).format(**slots),
            web=f"http://{HOST}:{SITES_PORT}{start_path(seed)}",
            web_name=f"touch.{self.app}",
            domain=f"level-{self.level}",
            eval=self.truth(phone, slots),
        )

    def truth(self, phone: Phone, slots: Slots) -> dict[str, Any]:
        """What has to be so at the end: these changes and no other."""
        after = phone.copy()
        if self.do is not None:
            self.do(after, slots)
        truth = state(changes=changes(phone, after))
        if self.say is None:
            return truth
        said = answer(self.say(phone, slots))
        return {**truth, **said, "eval_types": [*said["eval_types"], *truth["eval_types"]]}

    def slots(self, ques: str) -> Slots | None:
        """What an instruction of this family holds; None of another's."""
        for wording in self.wordings:
            pattern = re.sub(r"\\{(\w+)\\}", r'(?P<\1>[^"]+)', re.escape(wording))
            if match := re.fullmatch(pattern, ques.strip()):
                return match.groupdict()
        return None

"""What commands need of the machines they run on."""

import dataclasses
from typing import Annotated

from common.limits import Checked, at_least


@dataclasses.dataclass(frozen=True)
class Resources(Checked):
    """Of one command; 0 leaves it to the executor."""

    num_gpus: Annotated[int, at_least(0)] = 0
    num_cores: Annotated[int, at_least(0)] = 0


ANY = Resources()


@dataclasses.dataclass(frozen=True)
class Needs(Checked):
    """Of each kind of command of a run."""

    browsing: Resources = ANY
    serving: Resources = ANY
    converting: Resources = ANY
    training: Resources = ANY

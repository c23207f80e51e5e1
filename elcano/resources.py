"""What commands need of the machines they run on."""

import dataclasses
from typing import Annotated

from common.errors import UserError
from common.options.limits import Checked, at_least


@dataclasses.dataclass(frozen=True)
class Resources(Checked):
    """Of one command; what is 0 or empty is left to the executor. The local one minds cores and GPUs alone."""

    num_gpus: Annotated[int, at_least(0)] = 0
    num_cores: Annotated[int, at_least(0)] = 0
    memory_gib: Annotated[int, at_least(0)] = 0
    time_h: Annotated[float, at_least(0)] = 0.0
    """After so many hours a cluster ends the command; the next start of the run continues it."""
    num_nodes: Annotated[int, at_least(1)] = 1
    """So many nodes at the same time, each with all of this; more than one for training alone."""
    partition: str = ""
    """Which part of a cluster: of SLURM's partitions, of Ray's nodes those with this label."""


ANY = Resources()


@dataclasses.dataclass(frozen=True)
class Needs(Checked):
    """Of each kind of command of a run."""

    browsing: Resources = ANY
    serving: Resources = ANY
    converting: Resources = ANY
    training: Resources = ANY

    def by_kind(self) -> dict[str, Resources]:
        """All of them, by the name that errors say."""
        return {f"needs.{field.name}": getattr(self, field.name) for field in dataclasses.fields(self)}

    def check_together(self) -> None:
        for name in ("browsing", "serving", "converting"):
            if getattr(self, name).num_nodes > 1:
                raise UserError(f"needs.{name}: num_nodes is for training; these commands run on one node each")

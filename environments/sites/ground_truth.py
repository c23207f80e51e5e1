"""The sites' oracle for instructions that anybody may have written: what they ask for, or why it cannot be done."""

import dataclasses
from typing import Any

from environments.sites import graded
from environments.sites.content import Content
from environments.sites.encyclopedia import tasks as encyclopedia
from environments.sites.forum import tasks as forum
from environments.sites.gallery import tasks as gallery
from environments.sites.instructions import parse
from environments.sites.shop import tasks as shop
from environments.sites.timetable import tasks as timetable
from environments.sites.truth import InfeasibleError

_SITES = {
    "Shop": ("shop", shop),
    "Wiki": ("encyclopedia", encyclopedia),
    "Forum": ("forum", forum),
    "Rail": ("timetable", timetable),
    "Look": ("gallery", gallery),
}


@dataclasses.dataclass(frozen=True)
class GroundTruth:
    """`split` is the one that the entities belong to; `eval` as in task files."""

    family: str
    site: str
    slots: dict[str, str]
    split: str
    eval: dict[str, Any]

    @property
    def key(self) -> tuple[str, ...]:
        """The same for two instructions that ask for the same thing in other words."""
        return (self.family, *(self.slots[name].lower() for name in sorted(self.slots)))


def ground_truth(content: Content, ques: str) -> GroundTruth:
    """What an instruction asks for.

    Raises:
        InfeasibleError: it names what does not exist, or is worded in no way that the sites' tasks know.
    """
    instruction = parse(ques)
    if instruction is None:
        raise InfeasibleError("worded in no way that the sites know")
    family, slots = instruction.family, instruction.slots
    if family in graded.LEVELS:
        instance, split = graded.instance_of(content, family, slots)
        return GroundTruth(family, graded.SITES[family], slots, split, instance.eval)
    site, module = _SITES[family.partition("-")[0]]
    instance, split = module.instance_of(getattr(content, site), family, slots)
    return GroundTruth(family, site, slots, split, instance.eval)

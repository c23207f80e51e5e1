"""How many groups may be under way: no more than the trainer can learn from before they are too old.

AReaL's rule: groups begun, less those that the trainer dropped, are at most `(max_lag + version + 1) * groups_per_step`
where `version` steps were learned so far. A straggler holds up no younger group, but none begins `look_ahead` numbers
behind it, or it could grow old without a bound.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Admission:
    """`groups_per_step`: groups that the trainer learns from before it publishes a version. Lag 0: it never has to wait
    for anything but the groups of its very next step, and these are all of the newest version."""

    groups_per_step: int
    max_lag: int
    look_ahead: int

    def allows(self, begun: int, dropped: int, version: int, oldest_open: int | None) -> bool:
        """Whether another group may begin beside the `begun` ones, of which `oldest_open` is the first that is not
        complete."""
        if oldest_open is not None and begun - oldest_open >= self.look_ahead:
            return False
        return begun - dropped < (self.max_lag + version + 1) * self.groups_per_step

    @property
    def worst_age(self) -> int:
        """Most versions that can be published while a group is under way, by a trainer that learns from
        `groups_per_step` groups a version and drops each group only once.

        Let group n begin at version v, with d dropped: n + 1 - d <= (max_lag + v + 1) * groups_per_step. While it is
        under way the trainer can have learned from no other group than those below n + look_ahead that were not
        dropped, so that a version w needs w * groups_per_step <= n + look_ahead - 1 - d. At lag 0 the groups of the
        step after v are all under way or complete when n is, and that step needs n.
        """
        if self.max_lag == 0:
            return 0
        return self.max_lag + 1 + (self.look_ahead - 2) // self.groups_per_step

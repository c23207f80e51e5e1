"""Which kinds of task come more seldom: those whose tries were all alike lately, as nothing can be learned from them.

Dynamic sampling (DAPO, arXiv 2503.14476, section 3.2) drops such groups when they have been browsed. This begins fewer
of them. What is learned most from is what is solved half the time (learnability, arXiv 2408.15099); whether the last
groups had any spread says nearly the same, and asks for no estimate of a success rate.
"""

from collections import defaultdict, deque
from collections.abc import Iterable

from data.online_run import Group
from data.task import family_of_task

_WINDOW = 6
"""Groups of a kind that are remembered: the policy changes."""


class Curriculum:
    """`settled` is told each complete group; `share` says how often a kind is met."""

    def __init__(self, floor: float, complete: Iterable[Group] = ()):
        """`floor`: the least share, above 0. At 1 all kinds are met alike."""
        self._floor = floor
        self._spread: defaultdict[str, deque[bool]] = defaultdict(lambda: deque(maxlen=_WINDOW))
        for group in complete:
            self.settled(group)

    def settled(self, group: Group) -> None:
        """One whose rewards say nothing, as faults ended it, is not remembered."""
        rewards = {reward for reward in group.rewards if reward is not None}
        if rewards:
            self._spread[family_of_task(group.task_id)].append(len(rewards) > 1)

    def share(self, task_id: str) -> float:
        """Of a task's turns those in which it is met: the share of its kind's last groups that had a spread, counting
        one more that had."""
        last = self._spread[family_of_task(task_id)]
        return max(self._floor, (sum(last) + 1) / (len(last) + 1))

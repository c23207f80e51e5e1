"""From the run's folder to optimizer steps: the first rank chooses, reads and tokenizes, all ranks get their share."""

import dataclasses
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torch import distributed

from training.batches.collate import Collator, OptimizerStep, Share, TokenizedSample
from training.batches.feed import PATIENCE, Replica
from training.batches.packing import deal_out
from training.batches.share_bytes import from_bytes, to_bytes
from training.online.config import OnlineConfig
from training.online.fates import Fates
from training.online.group import DroppedGroupError, GroupReader, LearnableGroup, known_logprobs
from training.online.window import takeable


@dataclasses.dataclass(frozen=True)
class Batch:
    """What a version learns from. `compared`: this replica's samples for `training.online.exactness`, with the tokens
    of the server's log-probabilities. `figures`: of the groups, for the report, the same on every rank."""

    steps: list[OptimizerStep]
    compared: Share
    figures: dict[str, Any]


class GroupSource:
    """Groups as they become complete; on the first rank."""

    def __init__(self, config: OnlineConfig, reader: GroupReader, fates: Fates) -> None:
        self.config, self.reader, self.fates = config, reader, fates
        self._ready: dict[int, LearnableGroup] = {}
        self.dropped: dict[str, int] = {}
        self.rewards: list[float] = []  # of all rollouts that were read since the last step
        self.num_waiting = 0

    def take(self, version: int, wait: Callable[[], bool]) -> list[LearnableGroup]:
        """The next groups for weights at `version`; `wait` is called between looks, and its False ends them all."""
        self._drop_old(version)
        while len(self._ready) < self.config.groups_per_step:
            if not self._look(version) and not wait():
                return []
        numbers = sorted(self._ready)[: self.config.groups_per_step]
        self.num_waiting = len(self._ready) - len(numbers)
        return [self._ready.pop(number) for number in numbers]

    def _look(self, version: int) -> bool:
        """Read the next group that can be taken; whether there was one."""
        begun = {number: path for number, path in self.config.run.groups().items() if number not in self.fates}
        complete = {number for number, path in begun.items() if (path / "group.json").exists()}
        numbers = takeable(begun, complete, self.config.look_ahead)
        for number in numbers:
            if number not in self._ready:
                self._read(version, number)
                return True
        return False

    def _read(self, version: int, number: int) -> None:
        try:
            group = self.reader.read(self.config.run.group(number))
        except DroppedGroupError as dropped:
            self._drop(version, number, dropped)
            self.rewards += dropped.rewards
        else:
            self._ready[number] = group
            self.rewards += group.rewards
            self._drop_old(version)

    def _drop_old(self, version: int) -> None:
        for number, group in list(self._ready.items()):
            if version - group.versions[0] > self.config.oldest:
                del self._ready[number]
                why = f"has replies of version {group.versions[0]}, more than {self.config.oldest} back"
                self._drop(version, number, DroppedGroupError("too old", why))

    def _drop(self, version: int, number: int, dropped: DroppedGroupError) -> None:
        self.fates.add(number, version, dropped.fate)
        self.dropped[dropped.fate] = self.dropped.get(dropped.fate, 0) + 1
        if dropped.fate != "no spread":
            print(f"group {number}: {dropped.fate}: {dropped.why}", flush=True)


class LiveFeed:
    """Every rank takes together."""

    def __init__(self, config: OnlineConfig, source: GroupSource | None, collator: Collator) -> None:
        """`source`: on the first rank. A collective."""
        self.config, self.source, self.collator = config, source, collator
        ranks = list(range(distributed.get_world_size()))
        group = distributed.new_group(ranks, timeout=PATIENCE, backend="gloo") if len(ranks) > 1 else None
        self.ranks = Replica(ranks, group)

    def take(self, version: int, wait: Callable[[], bool]) -> Batch | None:
        """What weights at `version` learn from; None when the first rank was told to stop."""
        began, groups, figures = time.monotonic(), [], None
        if self.source:
            groups = self.source.take(version, wait)
            figures = groups and self._figures(self.source, groups, version, time.monotonic() - began)
        figures = self._told(figures)
        if not figures:
            return None
        steps, compared = self._deal(groups, version) if self.source else ([None] * figures["steps"], None)
        own = [OptimizerStep(self.collator.collate(share.samples), share.keys) for share in map(self._own, steps)]
        return Batch(own, self._own(compared), figures)

    def _deal(
        self, groups: Sequence[LearnableGroup], version: int
    ) -> tuple[list[list[TokenizedSample]], list[TokenizedSample]]:
        """The samples of each optimizer step, in an order that the seed and the version draw; and those to compare."""
        samples = [sample for group in groups for sample in group.samples]
        steps = []
        for epoch in range(self.config.ppo_epochs):
            order = random.Random(f"{self.config.seed} {version} {epoch}").sample(samples, len(samples))
            steps += list(_cut(order, self.config.global_batch_size))
        known = [sample for sample in samples if known_logprobs(sample) is not None]
        every = max(1, len(known) // (self.config.compared_samples or len(known) or 1))
        return steps, known[::every][: self.config.compared_samples or None]

    def _own(self, samples: list[TokenizedSample] | None) -> Share:
        """This replica's share of `samples`, which the first rank gives."""
        place, shares = self.collator.place, [[]] * self.collator.place.data_size
        if samples is not None:
            costs = [float(len(sample.ids)) for sample in samples]
            shares = deal_out(costs, place.data_size, same_count=not self.config.packing)
        own = Share([], [])
        for replica, indices in enumerate(shares):
            share = None
            if samples is not None:
                share = to_bytes(Share([one.key for one in samples], [samples[index] for index in indices]))
            content = self.ranks.broadcast(share)
            if replica == place.data_rank:
                own = from_bytes(content)
                assert own is not None
        return own

    def _told(self, figures: Any) -> dict[str, Any]:
        """What the first rank says."""
        return json.loads(self.ranks.broadcast(json.dumps(figures).encode() if self.source else None))

    def _figures(
        self, source: GroupSource, groups: Sequence[LearnableGroup], version: int, waited_s: float
    ) -> dict[str, Any]:
        samples = [sample for group in groups for sample in group.samples]
        known = [logprobs for sample in samples if (logprobs := known_logprobs(sample)) is not None]
        num_tokens, rewards = sum(map(len, known)), source.rewards
        lags = [version - group.versions[0] for group in groups]
        assert max(lags) <= self.config.oldest, (lags, self.config.oldest)
        figures = {
            "steps": -(-len(samples) // self.config.global_batch_size) * self.config.ppo_epochs,
            "groups": [group.number for group in groups],
            "samples": len(samples),
            "rollouts": len(rewards),
            "success": sum(reward > 0 for reward in rewards) / max(1, len(rewards)),
            "reward": sum(rewards) / max(1, len(rewards)),
            "lag_mean": sum(lags) / len(lags),
            "lag_max": max(lags),
            "entropy": -sum(float(each.sum()) for each in known) / num_tokens if num_tokens else 0.0,
            "waiting_groups": source.num_waiting,
            "dropped": dict(source.dropped),
            "wait_s": waited_s,
        }
        source.rewards, source.dropped = [], {}
        return figures


def _cut(samples: list[TokenizedSample], size: int) -> Iterator[list[TokenizedSample]]:
    """As many steps as `size` makes, of like numbers of samples."""
    count = -(-len(samples) // size)
    for number in range(count):
        yield samples[number * len(samples) // count : (number + 1) * len(samples) // count]

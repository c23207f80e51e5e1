"""From the run's folder to optimizer steps: the first rank chooses and reads groups, all ranks get their share."""

import dataclasses
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from training.batches.collate import OptimizerStep, Share, TokenizedSample
from training.online.columns import ColumnMaker
from training.online.config import OnlineConfig
from training.online.dealing import Dealer
from training.online.fates import Fates
from training.online.group import DroppedGroupError, GroupReader, Tries, known_logprobs
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
        self._ready: dict[int, Tries] = {}
        self._learned: dict[int, Tries | None] = {}  # None: cannot be read again
        self.dropped: dict[str, int] = {}
        self.rewards: list[float] = []  # of all rollouts that were read since the last step
        self.num_waiting = 0

    def take(self, version: int, wait: Callable[[], bool]) -> list[Tries]:
        """The next groups for weights at `version`; `wait` is called between looks, and its False ends them all."""
        self._drop_old(version)
        while len(self._ready) < self.config.groups_per_step:
            if not self._look(version) and not wait():
                return []
        numbers = sorted(self._ready)[: self.config.groups_per_step]
        self.num_waiting = len(set(self._takeable()) - set(numbers))
        return [self._ready.pop(number) for number in numbers]

    def _look(self, version: int) -> bool:
        """Read the next group that can be taken; whether there was one."""
        for number in self._takeable():
            if number not in self._ready:
                self._read(version, number)
                return True
        return False

    def _takeable(self) -> list[int]:
        """The complete groups that may be taken, those that are read among them."""
        begun = {number: path for number, path in self.config.run.groups().items() if number not in self.fates}
        complete = {number for number, path in begun.items() if (path / "group.json").exists()}
        return takeable(begun, complete, self.config.look_ahead)

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

    def replayed(self) -> list[Tries]:
        """The groups that were taken last, at most `replay_groups`, oldest first; without those that cannot be read
        again. Also what left nothing to learn: a critic learns from it."""
        taken = [
            (version, number) for number, (version, fate) in self.fates.known.items() if fate in ("learned", "no gain")
        ]
        wanted = [number for _, number in sorted(taken)][-self.config.replay_groups :]
        known = self._learned
        self._learned = {number: known[number] if number in known else self._again(number) for number in wanted}
        return [group for group in self._learned.values() if group is not None]

    def learned_at(self, group: Tries) -> int:
        """The version that learned one of `replayed`."""
        return self.fates.known[group.number][0]

    def give_up(self, version: int, groups: Sequence[Tries]) -> None:
        """`groups`, which were taken, leave nothing to learn."""
        for group in groups:
            self._drop(version, group.number, DroppedGroupError("no gain", "no step is left to learn"))

    def keep(self, groups: Sequence[Tries]) -> None:
        """`groups` are learned now."""
        if self.config.replay_groups:
            self._learned |= {group.number: group for group in groups}

    def _again(self, number: int) -> Tries | None:
        try:
            return self.reader.read(self.config.run.group(number))
        except DroppedGroupError as dropped:
            print(f"group {number}: is not replayed: {dropped.why}", flush=True)
            return None

    def _drop_old(self, version: int) -> None:
        for number, group in list(self._ready.items()):
            if version - group.versions[0] > self.config.oldest:
                del self._ready[number]
                why = f"has replies of version {group.versions[0]}, more than {self.config.oldest} back"
                self._drop(version, number, DroppedGroupError("too old", why))

    def _drop(self, version: int, number: int, dropped: DroppedGroupError) -> None:
        self.fates.add(number, version, dropped.fate)
        self.dropped[dropped.fate] = self.dropped.get(dropped.fate, 0) + 1
        if dropped.fate not in ("no spread", "no gain"):
            print(f"group {number}: {dropped.fate}: {dropped.why}", flush=True)


class LiveFeed:
    """Every rank takes together."""

    def __init__(self, config: OnlineConfig, source: GroupSource | None, dealer: Dealer, maker: ColumnMaker) -> None:
        """`source`: on the first rank."""
        self.config, self.source, self.dealer, self.maker = config, source, dealer, maker

    def take(self, version: int, wait: Callable[[], bool]) -> Batch | None:
        """What weights at `version` learn from; None when the first rank was told to stop."""
        began, waited_s = time.monotonic(), 0.0
        while True:
            asked = time.monotonic()
            groups = self.source.take(version, wait) if self.source else []
            if not self.dealer.told(bool(groups)):
                return None
            waited_s += time.monotonic() - asked
            samples = self._learnable(version, groups)
            figures = self._figures(self.source, groups, samples, version) if self.source else None
            figures = self.dealer.told(figures)
            if figures["samples"]:
                break
            if self.source:
                self.source.give_up(version, groups)
        figures |= {"wait_s": waited_s, "columns_s": time.monotonic() - began - waited_s}
        steps, compared = self._deal(groups, samples, version) if self.source else ([None] * figures["steps"], None)
        shares = [self.dealer.own(step) for step in steps]
        collate = self.dealer.collator.collate
        own = [OptimizerStep(collate(share.samples), share.keys) for share in shares]
        return Batch(own, self.dealer.own(compared), figures)

    def _learnable(self, version: int, groups: list[Tries]) -> list[TokenizedSample]:
        """On the first rank; the others help to compute columns."""
        if not self.source:
            return self.maker.make([], [], [])
        replayed = self.source.replayed() if self.config.replay_groups else []
        rounds = [*map(self.source.learned_at, replayed), *[version] * len(groups)]
        samples = self.maker.make(replayed, groups, rounds)
        if samples:
            self.source.keep(groups)
        return samples

    def _deal(
        self, groups: Sequence[Tries], samples: list[TokenizedSample], version: int
    ) -> tuple[list[list[TokenizedSample]], list[TokenizedSample]]:
        """The samples of each optimizer step, in an order that the seed and the version draw; and those to compare,
        of the new groups alone."""
        steps = []
        for epoch in range(self.config.ppo_epochs):
            order = random.Random(f"{self.config.seed} {version} {epoch}").sample(samples, len(samples))
            steps += list(_cut(order, self.config.global_batch_size))
        new = {key for group in groups for key in group.samples}
        known = [sample for sample in samples if sample.key in new and known_logprobs(sample) is not None]
        every = max(1, len(known) // (self.config.compared_samples or len(known) or 1))
        return steps, known[::every][: self.config.compared_samples or None]

    def _figures(
        self, source: GroupSource, groups: Sequence[Tries], samples: Sequence[TokenizedSample], version: int
    ) -> dict[str, Any]:
        new = {key for group in groups for key in group.samples}
        said = [known_logprobs(sample) for sample in samples if sample.key in new]
        known = [logprobs for logprobs in said if logprobs is not None]
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
            "entropy": -sum(float(each.sum()) for each in known) / num_tokens if num_tokens else math.nan,
            "waiting_groups": source.num_waiting,
            "dropped": dict(source.dropped),
        }
        if samples:
            source.rewards, source.dropped = [], {}
        return figures


def _cut(samples: list[TokenizedSample], size: int) -> Iterator[list[TokenizedSample]]:
    """As many steps as `size` makes, of like numbers of samples."""
    count = -(-len(samples) // size)
    for number in range(count):
        yield samples[number * len(samples) // count : (number + 1) * len(samples) // count]

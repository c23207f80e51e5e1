"""A complete group as what is learned from it: samples with the tokens that were sampled, and their columns."""

import dataclasses
import statistics
from pathlib import Path
from typing import Any

import torch

from common.errors import UserError
from data.columns import digest_of
from data.online_run import Fate, read_group
from data.rewarded_step import RewardedStep
from data.trajectory import Trajectory, read_trajectory
from data.turn_samples import image_name, samples_of
from models.tokens.encoding import ConversationEncoder
from models.tokens.sampled import SampledReply
from training.algorithms.algorithm import Algorithm
from training.batches.collate import TokenizedSample
from training.batches.columns import ColumnJoin
from training.batches.tokenize_sample import tokenize
from training.samples.experience import RewardedTrajectory, as_trajectory
from training.samples.pictures import FilePart


@dataclasses.dataclass(frozen=True)
class LearnableGroup:
    """`rewards`: of the rollouts that have one. `versions`: the lowest and the highest that replied. `samples` are
    learned at the temperature that each was drawn at: at 1, imitating what was drawn below it would sharpen the policy
    from version to version, whatever the rewards. Those that weigh nothing are not among them."""

    number: int
    task_id: str
    rewards: list[float]
    versions: tuple[int, int]
    samples: list[TokenizedSample]

    @property
    def success(self) -> float:
        return statistics.fmean(reward > 0 for reward in self.rewards)


class DroppedGroupError(Exception):
    """A group that nothing is learned from: its `fate`, and why."""

    def __init__(self, fate: Fate, why: str, rewards: list[float] | None = None) -> None:
        super().__init__(why)
        self.fate: Fate = fate
        self.why, self.rewards = why, rewards or []


class GroupReader:
    """Reads groups for one algorithm."""

    def __init__(self, algorithm: Algorithm, encoder: ConversationEncoder) -> None:
        """`UserError` for an algorithm that asks for more than rewards."""
        needed = set(algorithm.needs.per_token) - {"behavior_logprobs"} or set(algorithm.sources)
        if not algorithm.makes_columns or needed or algorithm.value_heads:
            asked = f" (it asks for {', '.join(sorted(needed))})" if needed else ""
            raise UserError(f"{type(algorithm).__name__}: not learned online yet{asked}; take grpo or filtered_bc")
        self.algorithm, self.encoder, self.join = algorithm, encoder, ColumnJoin(algorithm)

    def read(self, folder: Path) -> LearnableGroup:
        """The complete group in `folder`.

        Raises:
            DroppedGroupError: nothing can be learned from it.
        """
        try:
            group = read_group(folder)
            assert group is not None, folder
            tries = [read_trajectory(folder / name) for name in group.folder_names()]
            judged = [one for one in tries if one.outcome is not None and one.outcome.verdict.solved is not None]
            samples = {one.run: _samples(one, group.group) for one in judged}
            trajectories = [_rewarded(own) for own in samples.values()]
        except UserError as error:
            raise DroppedGroupError("invalid", str(error)) from None
        rewards = [one.outcome for one in trajectories]
        if not rewards:
            raise DroppedGroupError("invalid", "a fault ended every rollout, or nobody judged it")
        if len(rewards) > 1 and max(rewards) == min(rewards):
            raise DroppedGroupError("no spread", f"all of {len(rewards)} outcomes are {rewards[0]:g}", rewards)
        try:
            columns = self.algorithm.columns(trajectories)
        except UserError as error:
            raise DroppedGroupError("no spread", str(error), rewards) from None
        kept = []
        for own, made in zip(samples.values(), columns, strict=True):
            for index, (fields, images) in enumerate(own):
                fields |= {name: float(values[index]) for name, values in made.items()}
                if fields.get("weight", 1.0) > 0:
                    kept.append((fields, images))
        try:
            tokens = [self._tokenize(fields, images) for fields, images in kept]
        except UserError as error:
            raise DroppedGroupError("invalid", str(error), rewards) from None
        return LearnableGroup(group.group, group.task_id, rewards, (group.versions[0], group.versions[1]), tokens)

    def _tokenize(self, fields: dict[str, Any], images: list[FilePart]) -> TokenizedSample:
        if self.join.reads_behavior:
            self._check_drawn(fields)
        return tokenize(self.encoder, fields["id"], fields, images, self.join, at_drawn=True)

    def _check_drawn(self, fields: dict[str, Any]) -> None:
        sampled = SampledReply.of(fields)
        if sampled is None or sampled.logprobs is None:
            raise UserError(
                f"sample {fields['id']}: has no log-probabilities; let the collector ask Elcano's server with the "
                "prompt that samples have (--prompt trained)"
            )
        if sampled.cut_off:
            raise UserError(
                f"sample {fields['id']}: was drawn among the likeliest tokens only; give the collector --top_k 0"
            )


def known_logprobs(sample: TokenizedSample) -> torch.Tensor | None:
    """[t]: of its predicted tokens, as the server gave them; None where it did not, or not of each."""
    if sample.behavior_logprobs is None:
        return None
    found = sample.behavior_logprobs[1:][sample.loss_mask[1:]]
    return found if found.isfinite().all() else None


def _samples(trajectory: Trajectory, group: int) -> list[tuple[dict[str, Any], list[FilePart]]]:
    """(json member, its images) of each step; the group's number takes the round's place in their ids."""
    asked = trajectory.provenance
    last_n = 0 if asked.get("text_only") else int(asked.get("max_attached_imgs") or 0)
    pairs = samples_of(trajectory, group, last_n)
    pictures = {image_name(sample["id"]): _whole(screenshot) for sample, screenshot in pairs}
    return [(sample, [pictures[name] for name in sample["images"]]) for sample, _ in pairs]


def _whole(path: Path) -> FilePart:
    return FilePart(path.absolute(), 0, path.stat().st_size)


def _rewarded(samples: list[tuple[dict[str, Any], list[FilePart]]]) -> RewardedTrajectory:
    steps = [
        (RewardedStep.of(fields["id"], fields), fields["id"], digest_of(fields["conversations"]))
        for fields, _ in samples
    ]
    return as_trajectory(steps[0][0].trajectory, steps)

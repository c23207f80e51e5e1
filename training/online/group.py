"""A complete group as what may be learned from it: its tries, and their steps with the tokens that were sampled."""

import dataclasses
from pathlib import Path
from typing import Any

import torch

from common.errors import UserError
from data.online_run import Fate, read_group
from data.samples.rewarded_step import RewardedStep
from data.samples.turn_samples import image_name, samples_of
from data.shards.columns import digest_of
from data.trajectory import Trajectory, read_trajectory
from models.tokens.encoding import ConversationEncoder
from models.tokens.sampled import SampledReply
from training.algorithms.algorithm import Algorithm
from training.batches.collate import TokenizedSample
from training.batches.columns import BEHAVIOR
from training.batches.tokenize_sample import tokenize
from training.samples.experience import RewardedTrajectory, as_trajectory
from training.samples.pictures import FilePart


@dataclasses.dataclass(frozen=True)
class Tries:
    """The judged rollouts of a group. `versions`: the lowest and the highest that replied. `samples`: of all steps, by
    id, at the temperature that each was drawn at: at 1, imitating what was drawn below it would sharpen the policy from
    version to version, whatever the rewards. `states`: the same steps as a critic reads them, where there is one."""

    number: int
    versions: tuple[int, int]
    trajectories: list[RewardedTrajectory]
    samples: dict[str, TokenizedSample]
    states: dict[str, TokenizedSample]

    @property
    def rewards(self) -> list[float]:
        return [one.outcome for one in self.trajectories]


class DroppedGroupError(Exception):
    """A group that nothing is learned from: its `fate`, and why."""

    def __init__(self, fate: Fate, why: str, rewards: list[float] | None = None) -> None:
        super().__init__(why)
        self.fate: Fate = fate
        self.why, self.rewards = why, rewards or []


class GroupReader:
    """Reads groups for one algorithm; `state_encoder` marks the tokens that a critic reads."""

    def __init__(
        self, algorithm: Algorithm, encoder: ConversationEncoder, state_encoder: ConversationEncoder | None = None
    ) -> None:
        self.algorithm, self.encoder, self.state_encoder = algorithm, encoder, state_encoder

    def read(self, folder: Path) -> Tries:
        """The complete group in `folder`.

        Raises:
            DroppedGroupError: nothing can be learned from it.
        """
        try:
            if (group := read_group(folder)) is None:
                raise UserError(f"{folder}: is not complete, or is gone")
            tries = [read_trajectory(folder / name) for name in group.folder_names()]
            judged = [one for one in tries if one.outcome is not None and one.outcome.verdict.solved is not None]
            steps = [_steps(one, group.group) for one in judged]
            trajectories = [_rewarded(own) for own in steps]
        except UserError as error:
            raise DroppedGroupError("invalid", str(error)) from None
        rewards = [one.outcome for one in trajectories]
        if not rewards:
            raise DroppedGroupError("invalid", "a fault ended every rollout, or nobody judged it")
        if why := self.algorithm.why_dropped(rewards):
            raise DroppedGroupError("no spread", why, rewards)
        everything = [step for own in steps for step in own]
        try:
            samples = {fields["id"]: self._sample(fields, images) for fields, images in everything}
            states = {fields["id"]: self._state(fields, images) for fields, images in everything if self.state_encoder}
        except UserError as error:
            raise DroppedGroupError("invalid", str(error), rewards) from None
        versions = (group.versions[0], group.versions[1])
        return Tries(group.group, versions, trajectories, samples, states)

    def _sample(self, fields: dict[str, Any], images: list[FilePart]) -> TokenizedSample:
        if BEHAVIOR in self.algorithm.needs.per_token:
            _check_drawn(fields)
        sample = tokenize(self.encoder, fields["id"], fields, images, at_drawn=True)
        if BEHAVIOR in self.algorithm.needs.per_token and known_logprobs(sample) is None:
            raise UserError(f"sample {sample.key}: not each of its tokens has a log-probability")
        return sample

    def _state(self, fields: dict[str, Any], images: list[FilePart]) -> TokenizedSample:
        assert self.state_encoder is not None
        return tokenize(self.state_encoder, fields["id"], fields, images)


def known_logprobs(sample: TokenizedSample) -> torch.Tensor | None:
    """[t]: of its predicted tokens, as the server gave them; None where it did not, or not of each."""
    if sample.behavior_logprobs is None:
        return None
    found = sample.behavior_logprobs[1:][sample.loss_mask[1:]]
    return found if found.isfinite().all() else None


def _check_drawn(fields: dict[str, Any]) -> None:
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


def _steps(trajectory: Trajectory, group: int) -> list[tuple[dict[str, Any], list[FilePart]]]:
    """(json member, its images) of each step; the group's number takes the round's place in their ids."""
    asked = trajectory.provenance
    last_n = 0 if asked.get("text_only") else int(asked.get("max_attached_imgs") or 0)
    if not (pairs := samples_of(trajectory, group, last_n)):
        raise UserError(f"{trajectory.folder}: has no step")
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

"""Rewarded step: where a sample stands in its trajectory, and what the step earned. Fields of a sample's json member:

    trajectory          the try it belongs to
    step                its number there, from 1
    group               what the tries of one task under one policy have in common
    done                whether it is the trajectory's last step
    reward              of the step; of a judged trajectory 1 on the last step of a success, else 0
    trajectory_reward   of the whole, where `reward` of the last step does not say it (WebRL's own data)
    task                the task in words, where the trajectory's id does not name it (imported data)
    candidate           0, or absent: what the agent did; 1, 2, ...: what else it might have done at this step

A sample that nobody judged has none of them.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from common.errors import UserError
from common.options.fields import check_fields

_STEP = re.compile(r"(?P<trajectory>.+)--step(?P<step>\d+)")
_ROUND = re.compile(r"--r(\d+)$")
_TRY = re.compile(r"(?:--run\d+)?--r\d+$")
_RUN = re.compile(r"--run\d+(?=--r\d+$)")


@dataclasses.dataclass(frozen=True)
class RewardedStep:
    """The fields of one sample; `trajectory_reward` is None where the sample has none."""

    trajectory: str
    step: int
    group: str
    done: bool
    reward: float
    task: str
    trajectory_reward: float | None = None
    candidate: int = 0

    @staticmethod
    def of(sample_id: str, fields: Mapping[str, Any]) -> "RewardedStep":
        """Of a sample's json member.

        Raises:
            UserError: a field is missing or of another type.
        """
        names = ("trajectory", "step", "group", "done", "reward")
        if missing := [name for name in names if name not in fields]:
            raise UserError(
                f"sample {sample_id}: has no {missing[0]}; convert judged trajectories (--only_judged), or WebRL's and "
                "DigiRL's own data, for an algorithm that goes by rewards"
            )
        told: dict[str, Any] = {"task": _TRY.sub("", str(fields["trajectory"]))}
        told |= {field.name: fields[field.name] for field in dataclasses.fields(RewardedStep) if field.name in fields}
        found = RewardedStep(**told)
        check_fields(f"sample {sample_id}", found)
        return found


def first_state(task_id: str) -> str:
    """The id of a sample that asks about a task which nobody has tried."""
    return f"{task_id}--r00--step01"


def round_of(group: str) -> int:
    """The number of the round that a group or a trajectory is of, by the naming rule; 0 where its name has none."""
    match = _ROUND.search(group)
    return int(match[1]) if match else 0


def place_fields(sample_id: str) -> dict[str, Any]:
    """`trajectory`, `step` and `group` by the naming rule of sample ids: `<task>[--run<k>]--r<round>--step<step>`."""
    match = _STEP.fullmatch(sample_id)
    if match is None:
        raise UserError(f"sample {sample_id}: its id does not end with --step<number>")
    trajectory = match["trajectory"]
    return {"trajectory": trajectory, "step": int(match["step"]), "group": _RUN.sub("", trajectory)}


def reward_fields(sample_ids: Sequence[str], success: bool) -> list[dict[str, Any]]:
    """The fields of a judged trajectory's samples, whose ids are given step by step."""
    last = len(sample_ids) - 1
    return [
        {**place_fields(identifier), "done": number == last, "reward": float(success and number == last)}
        for number, identifier in enumerate(sample_ids)
    ]


def discounted_returns(rewards: Sequence[float], gamma: float) -> list[float]:
    """Sum over k >= t of gamma^(k - t) * rewards[k], for each step t."""
    returns, following = [], 0.0
    for reward in reversed(rewards):
        following = reward + gamma * following
        returns.append(following)
    return returns[::-1]

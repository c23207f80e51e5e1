"""What an online trainer makes of its groups, without ranks: which steps count, what is dropped, what is replayed."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from common.errors import UserError
from data.online_run import Group, OnlineRun, write_group
from data.outcome import Verdict
from tests.toolkits.trajectories import write_trajectory
from tests.training.rewarded import trajectory
from training import algorithms
from training.algorithms.algorithm import Needs, Number
from training.algorithms.weighted_sft import WeightedSft
from training.batches.collate import TokenizedSample
from training.online.columns import ColumnMaker, check_online
from training.online.config import OnlineConfig
from training.online.fates import Fates
from training.online.feed import GroupSource
from training.online.group import DroppedGroupError, GroupReader, Tries
from training.samples.experience import RewardedTrajectory


def tries(*outcomes: float) -> Tries:
    """Of three steps each, whose samples are one token."""
    own = [trajectory("Shop", run, outcome, 3) for run, outcome in enumerate(outcomes)]
    token = torch.ones(2, dtype=torch.long)
    samples = {key: TokenizedSample(key, token, token.bool(), []) for one in own for key in one.keys}
    return Tries(0, (0, 0), own, samples, {})


def never(_: list[TokenizedSample] | None) -> dict[str, torch.Tensor]:
    raise AssertionError("nobody asks for the policy's log-probabilities")


@pytest.mark.parametrize(("mode", "counted"), [("paper", {1.0}), ("released", {0.0, 1.0})])
def test_only_steps_of_which_something_is_learned_are_computed(mode: str, counted: set[float]) -> None:
    """In the released mode of DigiRL those of weight 0 are counted in what the loss is divided by."""
    maker = ColumnMaker(algorithms.load("digirl", f"mode={mode},quantile=0,lam=0.1,horizon=4"), never, None)
    samples = maker.make([], [tries(1.0, 0.0, 0.0)], [0])
    assert {sample.columns.per_sample["weight"] for sample in samples} == counted


def test_columns_that_are_no_numbers_are_not_learned(capsys: pytest.CaptureFixture[str]) -> None:
    group = tries(1.0, 0.0)
    group.trajectories[0].rewards[-1] = np.inf
    maker = ColumnMaker(algorithms.load("webrl", ""), lambda samples: {}, None)
    assert maker.make([], [group], [0]) == []
    assert "its advantage would not be a finite number" in capsys.readouterr().out


class Returns(WeightedSft):
    """Reads what make_columns.sh writes beside an algorithm's own."""

    @property
    def needs(self) -> Needs:
        return Needs({"weight": Number(), "return": Number()})

    def columns(self, trajectories: Sequence[RewardedTrajectory]) -> list[dict[str, np.ndarray]]:
        return [{"weight": np.ones(one.num_steps)} for one in trajectories]


def test_a_column_that_is_not_made_online_is_named() -> None:
    with pytest.raises(UserError, match="Returns: needs column return, which its own `columns` do not make"):
        ColumnMaker(Returns(), never, None).make([], [tries(1.0, 0.0)], [0])


def test_a_critic_that_nobody_asks_is_refused() -> None:
    check_online(algorithms.load("digirl", "curriculum=outcome"), "td")
    with pytest.raises(UserError, match="Grpo: reads no values of steps; leave CRITIC out"):
        check_online(algorithms.load("grpo", ""), "monte_carlo")


def complete(run: OnlineRun, number: int, num_steps: int) -> None:
    """A group of one failure."""
    write_trajectory(run.group(number), run=0, num_steps=num_steps, verdict=Verdict.FAILURE)
    write_group(run.group(number), Group(number, "Shop--3", [0], [0.0], [0, 0]))


def test_what_cannot_be_read_is_dropped_or_not_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A try without a step; a learned group that somebody has removed; one that this algorithm would drop."""
    run = OnlineRun(tmp_path)
    reader = GroupReader(algorithms.load("pae", ""), encoder=None)  # pyright: ignore[reportArgumentType]  # not asked
    complete(run, 0, num_steps=0)
    with pytest.raises(DroppedGroupError, match="has no step") as dropped:
        reader.read(run.group(0))
    assert dropped.value.fate == "invalid"
    complete(run, 2, num_steps=1)
    fates = Fates(run.learned, writes=False)
    fates.known = {1: (0, "learned"), 2: (0, "learned")}
    config = OnlineConfig(run_dir=tmp_path, pretrain_checkpoint_path=tmp_path, replay_groups=4)
    source = GroupSource(config, reader, fates)
    assert source.replayed() == source.replayed() == []
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 2 and "group 1: is not replayed" in told[0] and "none of 1 tries succeeded" in told[1]

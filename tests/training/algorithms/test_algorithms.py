"""Algorithms by name, the columns they need, and their losses on numbers that one can check by hand."""

from pathlib import Path
from typing import Any

import pyarrow
import pytest
import torch
from pyarrow import parquet

from common.errors import UserError
from tests.training.own_algorithms import log_ratio
from training import algorithms
from training.algorithm_names import NAMES
from training.algorithms.algorithm import BatchColumns, PredictedTokens
from training.algorithms.sft import Sft
from training.algorithms.weighted_sft import WeightedSft
from training.batches.columns import ColumnJoin

LEARN = torch.tensor([False, False, True, True, True])


def tokens(**per_sample: list[float]) -> PredictedTokens:
    """Of two samples, of one and of three predicted tokens."""
    logprobs = torch.tensor([-1.0, -3.0, -0.5, -1.0], requires_grad=True)
    columns = {name: torch.tensor(values) for name, values in per_sample.items()}
    return PredictedTokens(logprobs, BatchColumns(torch.tensor([1, 3]), columns, {}))


def test_names_are_the_files_of_the_folder() -> None:
    files = {path.stem for path in Path(algorithms.__file__).parent.glob("*.py")}
    assert files == {*NAMES, "algorithm", "__init__"}
    assert [algorithms.load(name) for name in ("sft", "weighted_sft")] == [Sft(), WeightedSft()]


def test_a_module_path_is_an_algorithm_of_ones_own_with_its_options() -> None:
    found = algorithms.load("tests.training.own_algorithms.log_ratio", "beta=0.5")
    assert found == log_ratio.LogRatio(beta=0.5)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("ppo", "", "ALGORITHM=ppo: there are critic, digiq, .*, sft, webrl, weighted_sft, or the module path"),
        ("no.such.module", "", "ALGORITHM=no.such.module: no module that has ALGORITHM"),
        ("training.algorithms.algorithm", "", "no module that has ALGORITHM"),
        ("sft", "beta", "'beta' is not NAME=VALUE"),
    ],
)
def test_what_is_no_algorithm_is_refused(name: str, options: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        algorithms.load(name, options)


def test_an_option_that_an_algorithm_does_not_have_is_refused() -> None:
    with pytest.raises(UserError, match=r"^ALGORITHM_OPTIONS=beta=1 of sft: there is no 'beta'; its options: none"):
        algorithms.load("sft", "beta=1")


OUT_OF_RANGE = [
    ("digirl", "lam=-0.1", "lam must be 0 to 1, not -0.1"),
    ("digirl", "horizon=0", "horizon must be at least 1, not 0"),
    ("digirl", "quantile=1.5", "quantile must be 0 to 1, not 1.5"),
    ("filtered_bc", "rule=quantile,quantile=-1", "quantile must be 0 to 1, not -1.0"),
    ("pae", "shortest=2", "shortest must be 0 to 1, not 2.0"),
    ("pae", "shortest=0", "shortest must be above 0, not 0.0"),
    ("pae", "trajectories=0", "trajectories must be at least 1, not 0"),
    ("pae", "seed=-1", "seed must be at least 0, not -1"),
    ("webrl", "beta=0", "beta must be above 0, not 0.0"),
    ("webrl", "lam=7", "lam must be 0 to 1, not 7.0"),
    ("webrl", "gamma=1.1", "gamma must be 0 to 1, not 1.1"),
    ("webrl", "replay=-2", "replay must be at least 0, not -2.0"),
    ("webrl", "window_low=2,window_high=1", "window_low=2.0 must be below window_high=1.0"),
    ("webrl", "beta=nan", "beta must be a finite number, not nan"),
    ("grpo", "clip_low=0", "clip_low must be above 0 and at most 1, not 0.0"),
    ("grpo", "clip_high=-0.2", "clip_high must be above 0, not -0.2"),
    ("grpo", "dual_clip=0.5", r"dual_clip must be 0 \(none\) or above 1, not 0.5"),
    ("grpo", "drop_above=0", "drop_above must be above 0, not 0.0"),
    ("digiq", "loss=awr,temperature=0", "temperature must be above 0, not 0.0"),
]


@pytest.mark.parametrize(("name", "options", "message"), OUT_OF_RANGE)
def test_an_option_out_of_its_range_is_named(name: str, options: str, message: str) -> None:
    with pytest.raises(UserError, match=f"^ALGORITHM_OPTIONS={options} of {name}: {message}$"):
        algorithms.load(name, options)


@pytest.mark.parametrize("options", ["dual_clip=0", "dual_clip=3"])
def test_a_dual_clip_may_be_off(options: str) -> None:
    assert algorithms.load("grpo", options)


def test_sft_counts_every_sample_alike() -> None:
    """Token means 1 and 1.5; the second sample weighs half, and the mean is over two samples all the same."""
    batch = tokens(weight=[1.0, 0.5])
    losses = Sft().token_losses(batch)
    assert losses.tolist() == pytest.approx([1.0, 0.5, 0.5 / 6, 0.5 / 3])
    assert Sft().shares(batch.columns).tolist() == [1.0, 1.0]


def test_weighted_sft_is_a_mean_over_weights() -> None:
    batch = tokens(weight=[0.0, 0.5])
    total = WeightedSft().token_losses(batch).sum() / WeightedSft().shares(batch.columns).sum()
    assert total.item() == pytest.approx(1.5)  # as if the first sample were not there
    total.backward()
    assert batch.logprobs.grad.tolist() == pytest.approx([0.0, -1 / 3, -1 / 3, -1 / 3])


def columns_file(folder: Path, **columns: Any) -> Path:
    path = folder / "columns.parquet"
    parquet.write_table(pyarrow.table(columns), path)
    return path


def test_columns_come_from_files_then_from_the_sample(tmp_path: Path) -> None:
    """Lists are one number for each predicted token; the file's weight replaces the shard's."""
    path = columns_file(tmp_path, id=["x"], weight=[0.25], reference_logprobs=[[-1.0, -2.0, -3.0]])
    join = ColumnJoin(log_ratio.LogRatio(), [path])
    fields = {"weight": 7.0, "advantage": 2, "logprobs": [-1.5, -2.5, -3.5]}
    behavior = torch.tensor([torch.nan, torch.nan, -1.5, -2.5, -3.5])
    join.check("x", fields)
    found = join.of("x", fields, LEARN, behavior)
    assert found.per_sample == {"weight": 0.25, "advantage": 2.0}
    assert found.per_token["reference_logprobs"].tolist() == [-1.0, -2.0, -3.0]
    assert found.per_token["behavior_logprobs"].tolist() == [-1.5, -2.5, -3.5]


def test_sft_needs_no_file_and_takes_weights_from_the_shards() -> None:
    join = ColumnJoin(Sft())
    assert join.of("x", {}, LEARN, None).per_sample == {"weight": 1.0}
    assert join.of("x", {"weight": 0}, LEARN, None).per_sample == {"weight": 0.0}


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "missing": (WeightedSft(), {}, "sample x: has no weight, and no file of COLUMN_FILES has it"),
    "below": (WeightedSft(), {"weight": -1}, "sample x: weight is -1, less than 0"),
    "text": (Sft(), {"weight": "1"}, "sample x: weight is '1', not a finite number"),
    "nan": (Sft(), {"weight": float("nan")}, "sample x: weight is nan, not a finite number"),
    "huge": (Sft(), {"weight": 10**400}, "sample x: weight is 1000.*, not a finite number"),
}


@pytest.mark.parametrize(("algorithm", "fields", "message"), REFUSED.values(), ids=REFUSED)
def test_a_number_that_is_none_is_named(algorithm: Any, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        ColumnJoin(algorithm).check("x", fields)


def test_a_list_of_another_length_is_named(tmp_path: Path) -> None:
    path = columns_file(tmp_path, id=["x"], advantage=[1.0], reference_logprobs=[[-1.0, -2.0]])
    join = ColumnJoin(log_ratio.LogRatio(), [path])
    behavior = torch.tensor([torch.nan, torch.nan, -1.5, -2.5, -3.5])
    with pytest.raises(UserError, match="sample x: 2 reference_logprobs for 3 predicted tokens"):
        join.of("x", {}, LEARN, behavior)


def test_behavior_logprobs_must_be_known_of_every_predicted_token(tmp_path: Path) -> None:
    path = columns_file(tmp_path, id=["x"], advantage=[1.0], reference_logprobs=[[-1.0, -2.0, -3.0]])
    join = ColumnJoin(log_ratio.LogRatio(), [path])
    for behavior, known in ((None, 0), (torch.tensor([torch.nan, torch.nan, torch.nan, -2.5, -3.5]), 2)):
        with pytest.raises(UserError, match=f"sample x: {known} behavior_logprobs for 3 predicted tokens"):
            join.of("x", {}, LEARN, behavior)
    with pytest.raises(UserError, match="sample x: the algorithm needs behavior_logprobs"):
        join.check("x", {})


def test_a_column_of_tokens_that_no_file_has_is_refused() -> None:
    with pytest.raises(UserError, match=r"needs column reference_logprobs; no file of COLUMN_FILES \(not set\) has it"):
        ColumnJoin(log_ratio.LogRatio())

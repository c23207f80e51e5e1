"""Columns of rewards: what an algorithm learns from, made of trajectories. `bash training/make_columns.sh` starts it.

One row of the Parquet file for each training sample:

    id, digest              as in the samples, and of what they say
    trajectory, group, step where it stands (data/samples/rewarded_step.py)
    reward, outcome         of the step, of the whole trajectory
    return                  the sum of gamma^k times the reward k steps later
    num_tries               trajectories of its group

With --algorithm also those of that algorithm (weight, advantage, ...), made of these and of what it asks of
--column_files: a critic's values. Without, Monte Carlo values, which need no critic: the mean outcome of the other
tries of the group, as value_1, value_2 and instruction_value; where a group has one try, of all other trajectories.

The file appears when it is whole. The same command again leaves it as it is; another one does not replace it.
"""

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow

from common import cli
from common.errors import UserError
from common.files import file_digest
from common.options.limits import Checked, between
from common.options.switch import Switch
from data.samples.rewarded_step import discounted_returns
from data.shards.columns import ColumnFiles, is_written, names_in, print_columns, read_record, write_columns
from data.shards.shard import read_manifest
from training import algorithms
from training.config import parse_with_environment
from training.launch.foreign_tars import shards_to_read
from training.samples.estimators import others_mean
from training.samples.experience import RewardedTrajectory, by_group, read_experience

MONTE_CARLO = ("value_1", "value_2", "instruction_value")
_ROWS = 10_000  # of a Parquet row group


@dataclasses.dataclass(frozen=True)
class MakeColumnsConfig(Checked):
    """Rewards, returns, values, advantages and weights of every training sample."""

    dataset_path: Path
    """Folder of webdataset shards, or of tars that others made."""
    output: Path
    """The Parquet file to write."""
    algorithm: str = ""
    """The learning algorithm that will read them, a file in training/algorithms, or the module path of your own; none:
    Monte Carlo values."""
    algorithm_options: str = ""
    """Its own options, the same as in training: NAME=VALUE,NAME=VALUE."""
    column_files: str = ""
    """Parquet files of columns that they are made of (values), separated by commas."""
    gamma: Annotated[float, between(0, 1)] = 0.9
    """Discount of `return`."""
    scores: Path | None = None
    """File of score.sh under the policy that training starts from, for an algorithm that asks for what it has
    (perplexity)."""
    monte_carlo: Switch = False
    """With an algorithm: Monte Carlo values for those of its values that no file of column_files has."""

    def made_of(self, paths: Sequence[Path]) -> dict[str, Any]:
        """What the file depends on."""
        maker = self.algorithm and f"{self.algorithm}: {algorithms.load(self.algorithm, self.algorithm_options)}"
        policies = {of for path in paths if (of := self._policy_of(path))}
        if len(policies) > 1:
            said = ", ".join(map(str, paths))
            raise UserError(f"{said}: values of critics, or perplexities, of different policies")
        return {
            **({"critic_of": policies.pop()} if policies else {}),
            "algorithm": maker,
            "gamma": self.gamma,
            **({"monte_carlo": True} if self.monte_carlo else {}),
            "samples": file_digest(self.dataset_path / "manifest.json"),
            "column_files": [file_digest(path) for path in paths],
        }

    def _policy_of(self, path: Path) -> str | None:
        """The fingerprint of the policy that a file belongs to, where it says so: to no other one's training."""
        record = read_record(path) or {}
        return record.get("critic_of") or (record.get("policy") if path == self.scores else None)


def main(config: MakeColumnsConfig) -> None:
    """Read everything, then write the file and say what is in it."""
    config = dataclasses.replace(config, dataset_path=shards_to_read(config.dataset_path))
    read_manifest(config.dataset_path)
    algorithm = algorithms.load(config.algorithm, config.algorithm_options) if config.algorithm else None
    paths = [Path(path) for path in config.column_files.split(",") if path]
    sources = algorithm.sources if algorithm else ()
    if config.scores and names_in(config.scores) & set(sources):
        paths.append(config.scores)
    files = ColumnFiles(paths, sources, ())
    given = [name for name in sources if name in files]
    filled = MONTE_CARLO if config.monte_carlo else ()
    if missing := [name for name in sources if name not in (*given, *filled)]:
        said = ", ".join(map(str, paths)) or "not set"
        raise UserError(f"{config.algorithm} is made of column {missing[0]}; no file of COLUMN_FILES ({said}) has it")
    record = config.made_of(paths)
    if is_written(config.output, record):
        return
    trajectories = read_experience(config.dataset_path, files, given)
    if not (algorithm and algorithm.takes_candidates):
        _check_no_candidates(trajectories)
    if len(given) < len(sources):
        values = monte_carlo_values(trajectories)
        trajectories = [
            dataclasses.replace(trajectory, columns={**of_it, **trajectory.columns})
            for trajectory, of_it in zip(trajectories, values, strict=True)
        ]
    made = algorithm.columns(trajectories) if algorithm else monte_carlo_values(trajectories)
    check_numbers(trajectories, made)
    write_columns(config.output, tables(trajectories, made, config.gamma), schema(made[0]), record)
    print_columns(config.output)


def monte_carlo_values(trajectories: Sequence[RewardedTrajectory]) -> list[dict[str, np.ndarray]]:
    """value_1, value_2, instruction_value, [n] each: what the other tries of the group came to."""
    outcomes = np.array([trajectory.outcome for trajectory in trajectories])
    if len(outcomes) < 2:
        raise UserError("one trajectory alone says nothing of what to expect; Monte Carlo values need at least two")
    values = others_mean(outcomes)
    for numbers in by_group(trajectories):
        if len(numbers) > 1:
            values[numbers] = others_mean(outcomes[numbers])
    return [
        dict.fromkeys(MONTE_CARLO, np.full(len(trajectory.keys), value))
        for trajectory, value in zip(trajectories, values, strict=True)
    ]


def schema(columns: dict[str, np.ndarray]) -> pyarrow.Schema:
    """Of the file."""
    texts = [(name, pyarrow.string()) for name in ("id", "digest", "trajectory", "group")]
    counts = [(name, pyarrow.int32()) for name in ("step", "num_tries")]
    numbers = [(name, pyarrow.float64()) for name in ("reward", "outcome", "return", *columns)]
    return pyarrow.schema([*texts, *counts, *numbers])


def tables(
    trajectories: Sequence[RewardedTrajectory], made: Sequence[dict[str, np.ndarray]], gamma: float
) -> Iterator[list[dict[str, Any]]]:
    """The file's rows."""
    num_tries = {}
    for numbers in by_group(trajectories):
        num_tries |= dict.fromkeys(numbers, len(numbers))
    rows: list[dict[str, Any]] = []
    for number, (trajectory, columns) in enumerate(zip(trajectories, made, strict=True)):
        returns = discounted_returns(trajectory.rewards.tolist(), gamma)
        for index, key in enumerate(trajectory.keys):
            at = trajectory.steps[index] - trajectory.steps[0]
            rows.append(
                {
                    "id": key,
                    "digest": trajectory.digests[index],
                    "trajectory": trajectory.id,
                    "group": trajectory.group,
                    "step": trajectory.steps[index],
                    "num_tries": num_tries[number],
                    "reward": trajectory.rewards[at],
                    "outcome": trajectory.outcome,
                    "return": returns[at],
                    **{name: values[index] for name, values in columns.items()},
                }
            )
        if len(rows) >= _ROWS:
            yield rows
            rows = []
    yield rows


def _check_no_candidates(trajectories: Sequence[RewardedTrajectory]) -> None:
    for trajectory in trajectories:
        if trajectory.candidates.any():
            key = trajectory.keys[int(trajectory.candidates.argmax())]
            raise UserError(
                f"sample {key}: is a candidate action, not one that was taken; leave those out, or use digiq"
            )


def check_numbers(trajectories: Sequence[RewardedTrajectory], made: Sequence[dict[str, np.ndarray]]) -> None:
    """`UserError` naming the first sample with a number that is not finite."""
    for trajectory, columns in zip(trajectories, made, strict=True):
        for name, values in columns.items():
            assert values.shape == (len(trajectory.keys),), (name, values.shape)
            with np.errstate(over="ignore"):
                finite = np.isfinite(values.astype(np.float32))  # as training reads it
            if not finite.all():
                key = trajectory.keys[int(finite.argmin())]
                raise UserError(f"sample {key}: its {name} would not be a finite number")


if __name__ == "__main__":
    sys.exit(cli.guarded(lambda kind: main(parse_with_environment(kind, "make_columns.sh")), MakeColumnsConfig))

"""A critic as a user trains it: columns of outcomes, train_idefics2.sh, and its values of every step, by score.sh."""

import dataclasses
import math
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from common.errors import UserError
from data.checkpoint_folder import find_weights, fingerprint
from data.shards.columns import read_record
from tests import tiny
from tests.conftest import ROOT
from tests.forked import run_command
from tests.training.algorithms.test_grpo_run import plain_tries
from tests.training.conftest import train
from tests.training.rewarded import trajectory
from tests.training.script import Run, metrics
from toolkits.model_checkpoints_convertor.sources import TorchDistSource
from training import algorithms
from training.batches.columns import ColumnJoin
from training.critics.make_columns import MakeColumnsConfig
from training.critics.make_columns import main as make_columns

OPTIONS = {"algorithm": "critic", "global_batch_size": 8, "lr": 1e-3, "lr_warmup_iters": 0, "lr_schedule": "constant"}
LAYOUTS = ({"tp": 2, "packing": "false", "batch_size": 2}, {"pp": 2}, {"cp": 2}, {"dp": 2})


def score(checkpoint: Path, shards: Path, output: Path, **options: object) -> subprocess.Popen[str]:
    flags = {"checkpoint": checkpoint, "dataset_path": shards, "output": output, "pr": "fp32", "seq_len": 1024}
    return tiny.start_script(ROOT / "training" / "score.sh", {**flags, **options})


def scored(checkpoint: Path, shards: Path, output: Path) -> None:
    """Its values, by forks."""
    flags = {"checkpoint": checkpoint, "dataset_path": shards, "output": output, "pr": "fp32", "seq_len": 1024}
    run_command("training.critics.score", {**flags, "write": "values"})


def finish(process: subprocess.Popen[str], exit_code: int = 0) -> str:
    output = process.communicate(timeout=600)[0]
    assert process.returncode == exit_code, output
    return output


def rows(path: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in parquet.read_table(path).to_pylist()}


@dataclasses.dataclass(frozen=True)
class Trained:
    shards: Path
    columns: Path
    critic: Path
    losses: list[float]


@pytest.fixture(scope="module")
def trained(megatron: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """On four tries of two tasks, with TP=2, padded, two samples a micro-batch."""
    folder = tmp_path_factory.mktemp("critic")
    shards, columns = tiny.build_dataset(folder / "shards", plain_tries()), folder / "critic.parquet"
    make_columns(MakeColumnsConfig(shards, columns, "critic"))
    losses = train("idefics2", shards, megatron, folder, column_files=columns, train_iters=8, seq_len=1024, **OPTIONS)
    return Trained(shards, columns, folder / "checkpoint" / "run", losses)


def test_a_critic_learns_who_will_succeed_and_says_so_in_columns(
    trained: Trained, megatron: Path, tmp_path: Path
) -> None:
    """Its first loss is that of two coins; its values are of every step, and packing them changes nothing."""
    assert trained.losses[0] == pytest.approx(2 * math.log(2), abs=0.2)
    assert trained.losses[-1] < trained.losses[0] - 0.1
    scored(trained.critic, trained.shards, tmp_path / "values.parquet")
    values, outcomes = rows(tmp_path / "values.parquet"), rows(trained.columns)
    assert values.keys() == outcomes.keys()
    assert all(0 < row[name] < 1 for row in values.values() for name in ("value_1", "value_2"))
    assert values["A--00001--run0--r02--step01"]["value_1"] != values["A--00001--run0--r02--step01"]["value_2"]
    solved = [values[key]["value_1"] for key, row in outcomes.items() if row["outcome"]]
    failed = [values[key]["value_1"] for key, row in outcomes.items() if not row["outcome"]]
    assert sum(solved) / len(solved) > sum(failed) / len(failed)
    files = str(tmp_path / "values.parquet")
    make_columns(MakeColumnsConfig(trained.shards, tmp_path / "webrl.parquet", "webrl", column_files=files))
    last = "A--00001--run0--r02--step01"
    lower = min(values[last]["value_1"], values[last]["value_2"])
    assert rows(tmp_path / "webrl.parquet")[last]["advantage"] == pytest.approx(1 - lower)
    reference = tmp_path / "reference.parquet"
    parquet.write_table(pyarrow.table({"id": [last], "reference_logprobs": [[-1.0]]}), reference)
    join = ColumnJoin(algorithms.load("webrl"), [tmp_path / "webrl.parquet", reference])
    join.check_policy(fingerprint(find_weights(megatron)[0], "*.distcp"), 1)
    with pytest.raises(UserError, match="column advantage was made with the critic, or the perplexities, of another"):
        join.check_policy("another", 1)


@pytest.mark.slow
@pytest.mark.timeout(1300)
def test_values_are_alike_in_every_layout(trained: Trained, tmp_path: Path) -> None:
    finish(score(trained.critic, trained.shards, tmp_path / "one.parquet", write="values"))
    one = rows(tmp_path / "one.parquet")
    for number, options in enumerate(LAYOUTS):
        finish(score(trained.critic, trained.shards, tmp_path / f"{number}.parquet", write="values", **options))
        for key, row in rows(tmp_path / f"{number}.parquet").items():
            assert row["value_1"] == pytest.approx(one[key]["value_1"], abs=1e-5), (options, key)
            assert row["value_2"] == pytest.approx(one[key]["value_2"], abs=1e-5), (options, key)


def test_a_critic_is_not_exported(trained: Trained) -> None:
    with pytest.raises(
        UserError, match=r"is a critic \(value_1, value_2\), not a policy; give the policy's checkpoint"
    ):
        TorchDistSource(*find_weights(trained.critic))


@pytest.mark.slow
def test_a_policy_is_no_critic_and_a_critic_no_policy(trained: Trained, megatron: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    said = finish(score(megatron, trained.shards, output, write="values"), exit_code=2)
    assert said.splitlines()[-1].endswith("has no value heads; train them with ALGORITHM=critic")
    said = finish(score(trained.critic, trained.shards, output), exit_code=2)
    assert "is a critic (value_1, value_2), not a policy; give the policy's checkpoint" in said.splitlines()[-1]
    assert not output.exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_critic_goes_on_from_a_critic_and_learns_by_adapters(
    trained: Trained, megatron: Path, tmp_path: Path
) -> None:
    options = {**OPTIONS, "column_files": trained.columns, "train_iters": 2, "seq_len": 1024}
    later = train("idefics2", trained.shards, trained.critic, tmp_path / "later", **options)
    assert later[0] < trained.losses[-1] + 0.05
    first, _ = train("idefics2", trained.shards, megatron, tmp_path / "lora", lora_rank=2, **options)
    assert first == pytest.approx(trained.losses[0], abs=1e-4)
    critic = tmp_path / "lora" / "checkpoint" / "run"
    finish(score(critic, trained.shards, tmp_path / "values.parquet", write="values"))
    assert all(0 < row["value_1"] < 1 for row in rows(tmp_path / "values.parquet").values())


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_critic_that_was_killed_goes_on(trained: Trained, megatron: Path, tmp_path: Path) -> None:
    """Its steps and its values are the uninterrupted run's."""
    options = {**OPTIONS, "column_files": trained.columns, "seq_len": 1024}
    whole = Run(trained.shards, megatron, tmp_path / "whole", **options)
    expected = metrics(whole.finish())
    killed = Run(trained.shards, megatron, tmp_path / "killed", **options)
    killed.wait_for("saved")
    killed.kill()
    resumed = Run(trained.shards, megatron, tmp_path / "killed", **options)
    found = metrics(resumed.finish())
    assert found == {step: expected[step] for step in found} and 6 in found and 1 not in found
    for run in (whole, resumed):
        finish(score(run.checkpoints, trained.shards, run.checkpoints / "values.parquet", write="values"))
    first, second = rows(whole.checkpoints / "values.parquet"), rows(resumed.checkpoints / "values.parquet")
    assert first == second


@pytest.mark.slow
def test_features_go_on_after_a_kill(megatron: Path, tmp_path: Path) -> None:
    """Of 150 samples in parts of 64: the rows are the uninterrupted command's, in order and to the bit."""
    samples = [tiny.sample(index, num_words=5, with_images=False) for index in range(150)]
    shards, output = tiny.build_dataset(tmp_path / "shards", samples), tmp_path / "features.parquet"
    parts = tmp_path / ".features.parquet.parts"
    killed = score(megatron, shards, output, write="features")
    deadline = time.monotonic() + 200
    while not list(parts.glob("*.parquet")):
        assert killed.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert not output.exists()
    said = finish(score(megatron, shards, output, write="features"))
    assert f"{output}: goes on after " in said and said.splitlines()[-1] == f"{output}: 150 samples"
    assert not parts.exists()
    finish(score(megatron, shards, tmp_path / "whole.parquet", write="features"))
    found, expected = parquet.read_table(output), parquet.read_table(tmp_path / "whole.parquet")
    assert found.equals(expected) and found.num_rows == 150
    assert len({tuple(row) for row in found["state_features"].to_pylist()}) == 150
    assert found["state_features"].to_pylist() != found["action_features"].to_pylist()
    assert read_record(output)["write"] == "features"
    assert finish(score(megatron, shards, output, write="features")).splitlines()[-1] == f"{output}: complete"


def test_instructions_are_learned_from_first_steps_alone() -> None:
    tries = [trajectory("A", 0, 1.0, 3), trajectory("A", 1, 0.0, 2)]
    found = algorithms.load("critic", "of=instructions").columns(tries)
    assert [columns["weight"].tolist() for columns in found] == [[1, 0, 0], [1, 0]]
    assert algorithms.load("critic", "of=instructions").value_heads == ("instruction_value",)
    assert [columns["weight"].tolist() for columns in algorithms.load("critic").columns(tries)] == [[1, 1, 1], [1, 1]]


@pytest.mark.parametrize(("outcome", "number"), [(0.0, "0 of 2"), (1.0, "2 of 2")])
def test_tries_that_all_came_to_the_same_are_refused(outcome: float, number: str) -> None:
    tries = [trajectory("A", run, outcome, 2) for run in range(2)]
    with pytest.raises(UserError, match=f"{number} trajectories succeed; a critic learns from successes and failures"):
        algorithms.load("critic").columns(tries)

"""A small critic on features: targets by hand, what it learns of a chain of known values, and its command."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
import torch
from pyarrow import parquet

from common.errors import UserError
from common.files import write_json
from data.shards.columns import ColumnFiles, digest_of, read_record, write_columns
from data.shards.shard import Sample, read_manifest
from tests import tiny
from tests.conftest import ROOT
from tests.training.algorithms.test_make_columns import tries
from tests.training.rewarded import trajectory
from training import algorithms
from training.algorithms.digiq import q_targets
from training.batches.columns import ColumnJoin
from training.critics.feature_critic import FEATURES, FeatureCriticConfig, main, transitions
from training.critics.feature_networks import FeatureCritic
from training.critics.make_columns import MakeColumnsConfig
from training.critics.make_columns import main as make_columns
from training.samples.stored_sample import read_in_order

WIDTH = 4


def linear(critic: FeatureCritic, networks: str, weights: list[float], bias: float = 0.0) -> None:
    """Make a network compute `weights` times its inputs, which are at least 0, plus `bias`."""
    modules = getattr(critic, networks)
    for network in modules:
        for layer in network:
            if isinstance(layer, torch.nn.Linear):
                layer.weight.data.zero_()
                layer.bias.data.zero_()
        inputs = torch.tensor(weights)
        network[0].weight.data[0, : len(inputs)] = inputs
        network[2].weight.data[0, 0] = network[4].weight.data[0, 0] = 1.0
        network[4].bias.data.fill_(bias)


def chain() -> Any:
    """A success of three steps and a failure of one; a state's feature is its number, an action's ten times that."""
    tries = [trajectory("A", 0, 1.0, 3), trajectory("B", 0, 0.0, 1)]
    states = torch.tensor([[1.0], [2.0], [3.0], [4.0]])
    return transitions(tries, states, 10 * states)


def test_transitions_know_what_follows() -> None:
    data = chain()
    assert data.following.tolist() == [1, 2, -1, -1]
    assert data.first.tolist() == [True, False, False, True]
    assert data.rewards.tolist() == [0, 0, 1, 0] and data.outcomes.tolist() == [1, 1, 1, 0]


def test_candidates_are_no_transitions() -> None:
    """Of two candidates at each step the one that was taken comes first."""
    tries = [trajectory("A", 0, 1.0, 2, num_candidates=1), trajectory("B", 0, 0.0, 1, num_candidates=1)]
    states = torch.arange(6.0).unsqueeze(1)
    data = transitions(tries, states, states)
    assert data.states[:, 0].tolist() == [0, 2, 4] and data.following.tolist() == [1, -1, -1]


def test_td_targets_are_those_computed_by_hand() -> None:
    """Q = s + a = 11 s, V = 2 s, Vbar = 3 s and 3 s - 1, Qbar = 5 s and 5 s + 7: the smaller ones are the targets', and
    after the step that ends a try there is nothing."""
    critic, data = FeatureCritic(1, WIDTH), chain()
    linear(critic, "q", [1.0, 1.0])
    linear(critic, "v", [2.0])
    linear(critic, "slow_v", [3.0])
    critic.slow_v[1][4].bias.data.fill_(-1.0)
    linear(critic, "slow_q", [5.0, 0.0])
    critic.slow_q[0][4].bias.data.fill_(7.0)
    q_target = [0.9 * (3 * 2 - 1), 0.9 * (3 * 3 - 1), 1.0, 0.0]
    q_loss = sum((11 * s - target) ** 2 for s, target in zip((1, 2, 3, 4), q_target, strict=True)) / 4
    v_loss = sum((2 * s - 5 * s) ** 2 for s in (1, 2, 3, 4)) / 4
    loss = critic.loss(data, torch.arange(4), "td", 0.9)
    assert loss.item() == pytest.approx(2 * q_loss + 2 * v_loss, rel=1e-6)
    loss.backward()
    assert all(parameter.grad is None for slow in (critic.slow_q, critic.slow_v) for parameter in slow.parameters())


def test_bootstrapped_targets_take_numbers_of_either_kind() -> None:
    assert q_targets(np.array([0.0, 1.0]), np.array([0.5, 0.0]), 0.9).tolist() == [0.45, 1.0]
    assert q_targets(torch.tensor([0.0, 1.0]), torch.tensor([0.5, 0.0]), 0.5).tolist() == [0.25, 1.0]


def test_slow_copies_begin_equal_and_follow() -> None:
    critic = FeatureCritic(3, WIDTH)
    for slow, fast in zip(critic.slow_q.parameters(), critic.q.parameters(), strict=True):
        assert torch.equal(slow, fast)
    before = critic.v[0][0].weight.detach().clone()
    critic.v[0][0].weight.data += 1.0
    critic.follow(0.1)
    assert torch.allclose(critic.slow_v[0][0].weight, before + 0.1)


def test_monte_carlo_is_the_cross_entropy_of_outcomes() -> None:
    """Values of 1/2 everywhere: log 2 of each twin, and of the instructions'."""
    critic = FeatureCritic(1, WIDTH)
    linear(critic, "q", [0.0])
    linear(critic, "v", [0.0])
    critic.instruction[4].weight.data.zero_()
    critic.instruction[4].bias.data.zero_()
    loss = critic.loss(chain(), torch.arange(4), "monte_carlo", 0.9)
    assert loss.item() == pytest.approx(5 * np.log(2), rel=1e-6)


def dataset(folder: Path) -> Path:
    return tiny.build_dataset(folder / "shards", tries())


def features_of(shards: Path, path: Path, policy: str = "p0") -> Path:
    """As score.sh writes them; a try's number, its step, and whether it will succeed are there to be found."""
    rows = []
    for sample in read_in_order(shards):
        solved = float("A--00001--run0" in sample.id or "B" in sample.id)
        state, action = [solved, float(sample.fields["step"]), float("A" in sample.id)], [solved, 1.0, 0.0]
        row = {"id": sample.id, "digest": digest_of(sample.fields["conversations"])}
        rows.append({**row, **dict(zip(FEATURES, (state, action), strict=True))})
    columns = {"id": pyarrow.string(), "digest": pyarrow.string()}
    schema = pyarrow.schema({**columns, **dict.fromkeys(FEATURES, pyarrow.list_(pyarrow.float32()))})
    write_columns(path, [rows], schema, {"policy": policy})
    return path


def rows(path: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in parquet.read_table(path).to_pylist()}


def test_td_finds_the_discounted_return_of_every_step(tmp_path: Path) -> None:
    """Each try is certain here, so Q and V are gamma to the number of steps left."""
    shards = dataset(tmp_path)
    features, output = features_of(shards, tmp_path / "features.parquet"), tmp_path / "q.parquet"
    options = {"gamma": 0.8, "tau": 0.05, "lr": 3e-3, "train_iters": 1500, "width": 32}
    main(FeatureCriticConfig(shards, features, tmp_path / "critic.pt", output, **options))
    found = rows(output)
    for step, left in ((1, 2), (2, 1), (3, 0)):
        row = found[f"A--00001--run0--r02--step0{step}"]
        assert [row[name] for name in ("q_1", "q_2", "value_1", "value_2")] == pytest.approx([0.8**left] * 4, abs=0.1)
    assert found["A--00001--run1--r02--step01"]["q_1"] == pytest.approx(0.0, abs=0.1)
    assert len(found) == read_manifest(shards)["num_samples"]


def test_monte_carlo_finds_outcomes_and_instructions(tmp_path: Path) -> None:
    shards = dataset(tmp_path)
    features, output = features_of(shards, tmp_path / "features.parquet"), tmp_path / "v.parquet"
    options = {"target": "monte_carlo", "lr": 3e-3, "train_iters": 300, "width": 32}
    main(FeatureCriticConfig(shards, features, tmp_path / "critic.pt", output, **options))
    found = rows(output)
    for key, row in found.items():
        solved = float("A--00001--run0" in key or "B" in key)
        assert [row["value_1"], row["q_2"], row["instruction_value"]] == pytest.approx([solved] * 3, abs=0.2), key


HALF = {(task, run) for task in "AB" for run in (0, 2, 4)}


def ten_tries(solved: set[tuple[str, int]]) -> list[Sample]:
    """Five of each of two tasks, of two steps each."""
    lengths = dict.fromkeys(((task, run) for task in "AB" for run in range(5)), 2)
    return tiny.tries(lengths, solved, num_words=5, with_images=False)


def test_a_try_is_judged_by_the_critic_that_has_not_seen_it(tmp_path: Path) -> None:
    """Its own values stay to the bit when it ends otherwise; those that the others have change."""
    options, found = {"target": "monte_carlo", "lr": 3e-3, "train_iters": 50, "width": 8, "folds": 2}, []
    for name, solved in (("one", HALF), ("other", HALF | {("A", 1)})):
        shards = tiny.build_dataset(tmp_path / name, ten_tries(solved))
        features, output = features_of(shards, tmp_path / f"{name}.features.parquet"), tmp_path / f"{name}.parquet"
        main(FeatureCriticConfig(shards, features, tmp_path / f"{name}.pt", output, **options))
        found.append({key: (row["value_1"], row["q_2"], row["instruction_value"]) for key, row in rows(output).items()})
    same = {key for key in found[0] if found[0][key] == found[1][key]}
    assert {key for key in found[0] if "A--00001--run1" in key} <= same < found[0].keys()
    few = {("A", 0): 3, ("A", 1): 2}
    shards = tiny.build_dataset(tmp_path / "few", tiny.tries(few, {("A", 0)}, num_words=5, with_images=False))
    features = features_of(shards, tmp_path / "few.features.parquet")
    with pytest.raises(UserError, match="no success, or no failure; give a smaller --folds than 2"):
        for seed in range(20):  # until both fall into one
            main(
                FeatureCriticConfig(
                    shards, features, tmp_path / f"{seed}.pt", tmp_path / f"{seed}", **options, seed=seed
                )
            )


@pytest.mark.slow
@pytest.mark.parametrize("folds", [1, 2])
def test_a_killed_command_goes_on_and_writes_the_same(tmp_path: Path, folds: int) -> None:
    shards = tiny.build_dataset(tmp_path / "shards", ten_tries(HALF))
    features = features_of(shards, tmp_path / "features.parquet")
    flags = {"dataset_path": shards, "features": features, "train_iters": 2000, "width": 16, "folds": folds}

    def start(name: str) -> subprocess.Popen[str]:
        places = {"critic": tmp_path / f"{name}.pt", "output": tmp_path / f"{name}.parquet"}
        return tiny.start_script(ROOT / "training" / "feature_critic.sh", {**flags, **places})

    killed, whole = start("killed"), start("whole")
    deadline = time.monotonic() + 120
    while not (tmp_path / "killed.pt").exists():
        assert killed.poll() is None and time.monotonic() < deadline
        time.sleep(0.002)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    step = torch.load(tmp_path / "killed.pt", weights_only=True)["step"]
    assert 0 < step < 2000 and not (tmp_path / "killed.parquet").exists()
    for run in (start("killed"), whole):
        assert run.wait(timeout=200) == 0, run.stdout.read()
    assert parquet.read_table(tmp_path / "killed.parquet").equals(parquet.read_table(tmp_path / "whole.parquet"))


def test_a_fitted_critic_is_asked_about_other_samples_but_of_its_own_policy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shards, critic = dataset(tmp_path), tmp_path / "critic.pt"
    features, options = features_of(shards, tmp_path / "features.parquet"), {"train_iters": 20, "width": 4}
    main(FeatureCriticConfig(shards, features, critic, tmp_path / "q.parquet", **options))
    others = tiny.build_dataset(tmp_path / "others", [sample for sample in tries() if sample.id.startswith("B")])
    own = features_of(others, tmp_path / "others.parquet")
    main(FeatureCriticConfig(others, own, critic, tmp_path / "q_others.parquet", **options))
    assert f"{critic}: fitted already" in capsys.readouterr().out
    assert all(
        row["q_1"] == rows(tmp_path / "q.parquet")[key]["q_1"]
        for key, row in rows(tmp_path / "q_others.parquet").items()
    )
    before = critic.read_bytes()
    foreign = features_of(shards, tmp_path / "foreign.parquet", policy="p1")
    with pytest.raises(UserError, match=r"is a critic of another policy than .*foreign.parquet; give another --critic"):
        main(FeatureCriticConfig(shards, foreign, critic, tmp_path / "no.parquet", **options))
    with pytest.raises(UserError, match="began with another gamma, width; give another --critic, or remove it"):
        main(FeatureCriticConfig(shards, features, critic, tmp_path / "no.parquet", gamma=0.5, train_iters=20))
    assert critic.read_bytes() == before and not (tmp_path / "no.parquet").exists()
    main(FeatureCriticConfig(shards, features, critic, tmp_path / "q.parquet", **options))
    assert capsys.readouterr().out.splitlines()[-1] == f"{tmp_path / 'q.parquet'}: complete"
    with pytest.raises(UserError, match="began with another folds; give another --critic"):
        main(FeatureCriticConfig(shards, features, critic, tmp_path / "no.parquet", **options, folds=2))
    changed = parquet.read_table(features)
    write_columns(tmp_path / "anybody", [changed.to_pylist()], changed.schema, {})
    with pytest.raises(UserError, match=r"is a critic of another policy than .*anybody"):
        main(FeatureCriticConfig(shards, tmp_path / "anybody", critic, tmp_path / "no.parquet", **options))
    for name, made in (("asked", {"policy": "p0", "after_question": True}), ("long", {"policy": "p0", "seq_len": 9})):
        write_columns(tmp_path / name, [changed.to_pylist()], changed.schema, made)
    with pytest.raises(UserError, match="began with another features, after_question; give another --critic"):
        main(FeatureCriticConfig(shards, tmp_path / "asked", critic, tmp_path / "no.parquet", **options))
    main(FeatureCriticConfig(shards, tmp_path / "long", tmp_path / "long.pt", tmp_path / "long.q", **options))
    with pytest.raises(UserError, match="began with another features, seq_len"):
        write_columns(tmp_path / "short", [changed.to_pylist()], changed.schema, {"policy": "p0", "seq_len": 8})
        main(FeatureCriticConfig(shards, tmp_path / "short", tmp_path / "long.pt", tmp_path / "no.parquet", **options))


def test_columns_of_another_policys_small_critic_are_refused(tmp_path: Path) -> None:
    """Unless its features are those of a representation, which is another model than the policy."""
    shards, values = dataset(tmp_path), tmp_path / "v.parquet"
    features = features_of(shards, tmp_path / "features.parquet")
    options = {"target": "monte_carlo", "train_iters": 5, "width": 4}
    main(FeatureCriticConfig(shards, features, tmp_path / "c.pt", values, **options))
    make_columns(MakeColumnsConfig(shards, tmp_path / "digirl.parquet", "digirl", "quantile=0", str(values)))
    join = ColumnJoin(algorithms.load("digirl"), [tmp_path / "digirl.parquet"])
    join.check_policy("p0", 1)
    with pytest.raises(UserError, match="was made with the critic, or the perplexities, of another policy than"):
        join.check_policy("p1", 1)
    table = parquet.read_table(features)
    write_columns(tmp_path / "asked", [table.to_pylist()], table.schema, {"policy": "p9", "after_question": True})
    main(FeatureCriticConfig(shards, tmp_path / "asked", tmp_path / "r.pt", tmp_path / "r.parquet", **options))
    assert "critic_of" not in read_record(tmp_path / "r.parquet")


def test_a_critic_of_other_verdicts_is_one_line(tmp_path: Path) -> None:
    shards, critic = dataset(tmp_path), tmp_path / "critic.pt"
    features, options = features_of(shards, tmp_path / "features.parquet"), {"train_iters": 20, "width": 4}
    main(FeatureCriticConfig(shards, features, critic, tmp_path / "q.parquet", **options))
    turned = [
        Sample(s.id, s.conversations, [], {**s.extra, "reward": 1 - s.extra["reward"]}) if s.extra["done"] else s
        for s in tries()
    ]
    again = tiny.build_dataset(tmp_path / "again", turned)
    message = (
        r"critic\.pt: was fitted to an outcome of [01] of \S+, which is [01] now; give another --critic, or remove it"
    )
    with pytest.raises(UserError, match=message):
        main(FeatureCriticConfig(again, features, critic, tmp_path / "no.parquet", **options))
    half = {**torch.load(critic, weights_only=True), "step": 10}
    torch.save(half, critic)
    with pytest.raises(UserError, match="began with another samples; give another --critic"):
        main(FeatureCriticConfig(again, features, critic, tmp_path / "no.parquet", **options))
    assert not (tmp_path / "no.parquet").exists()


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    shards, critic, output = dataset(tmp_path), tmp_path / "critic.pt", tmp_path / "q.parquet"
    features = features_of(shards, tmp_path / "features.parquet")
    others = tiny.build_dataset(tmp_path / "others", [tiny.sample(0, with_images=False)])
    part = tmp_path / "part.parquet"
    table = parquet.read_table(features)
    parquet.write_table(table.drop_columns(["action_features"]), part)
    few = tmp_path / "few.parquet"
    parquet.write_table(table.slice(1), few)
    failed = tiny.build_dataset(tmp_path / "failed", [sample for sample in tries() if "A--00001--run1" in sample.id])
    critic.write_bytes(b"no critic")
    nothing, wide, odd = tmp_path / "nothing.pt", tmp_path / "wide.pt", tmp_path / "odd"
    torch.save({"record": None, "step": 1}, nothing)
    main(FeatureCriticConfig(shards, features, wide, tmp_path / "wide.parquet", train_iters=2, width=4))
    longer = [{**row, **{name: [*row[name], 1.0] for name in FEATURES}} for row in table.to_pylist()]
    write_columns(tmp_path / "longer", [longer], table.schema, {"policy": "p0"})
    write_columns(odd, [[*longer[:1], *table.to_pylist()[1:]]], table.schema, {"policy": "p0"})
    held_out = tiny.build_dataset(tmp_path / "held_out", tries())
    manifest = read_manifest(held_out)
    write_json(held_out / "manifest.json", {**manifest, "shards": [{**s, "split": "val"} for s in manifest["shards"]]})
    for config, message in (
        (FeatureCriticConfig(shards, part, critic, output), "has no column action_features; make it with score.sh"),
        (FeatureCriticConfig(shards, few, critic, output), "no row for sample .*; it was made for other samples"),
        (FeatureCriticConfig(others, features, critic, output), "has no trajectory"),
        (FeatureCriticConfig(shards, features, critic, output), "critic.pt: not a critic of this command"),
        (FeatureCriticConfig(shards, features, nothing, output), "nothing.pt: not a critic of this command"),
        (
            FeatureCriticConfig(shards, tmp_path / "longer", wide, output, train_iters=2, width=4),
            "wide.pt: was fitted to features of another size",
        ),
        (FeatureCriticConfig(shards, odd, tmp_path / "c.pt", output), r"has 3 state_features, sample \S+ has 4"),
        (FeatureCriticConfig(shards, features, output, output), "is --critic, too; give values and critic a file each"),
        (FeatureCriticConfig(held_out, features, tmp_path / "c.pt", output), "no training sample"),
        (FeatureCriticConfig(failed, features, tmp_path / "c.pt", output), "0 of 1 trajectories succeed"),
    ):
        with pytest.raises(UserError, match=message):
            main(config)
    assert not output.exists() and critic.read_bytes() == b"no critic"


def test_what_no_critic_has_seen_is_judged_by_all(tmp_path: Path) -> None:
    """And one of before there were folds goes on."""
    shards, options = tiny.build_dataset(tmp_path / "shards", ten_tries(HALF)), {"train_iters": 20, "width": 4}
    features, critic = features_of(shards, tmp_path / "features.parquet"), tmp_path / "critic.pt"
    main(FeatureCriticConfig(shards, features, critic, tmp_path / "q.parquet", **options, folds=2))
    unseen = tiny.build_dataset(tmp_path / "unseen", tiny.tries({("C", 0): 1}, set(), num_words=5, with_images=False))
    own, output = features_of(unseen, tmp_path / "unseen.parquet"), tmp_path / "q_unseen.parquet"
    main(FeatureCriticConfig(unseen, own, critic, output, **options, folds=2))
    columns = ColumnFiles([own], (), FEATURES)
    [key] = rows(output)
    state, action = (torch.from_numpy(columns.of_tokens(name, key))[None] for name in FEATURES)
    critics, weights = [], torch.load(critic, weights_only=True)["critic"]
    for fold in range(2):
        critics.append(FeatureCritic(3, 4))
        critics[-1].load_state_dict({name[2:]: value for name, value in weights.items() if name.startswith(f"{fold}.")})
    said = [one.values(state, action, "td")["q_1"].item() for one in critics]
    assert said[0] != said[1] and rows(output)[key]["q_1"] == pytest.approx(sum(said) / 2, rel=1e-6)

    main(FeatureCriticConfig(shards, features, tmp_path / "one.pt", tmp_path / "one.parquet", **options))
    state = torch.load(tmp_path / "one.pt", weights_only=True)
    del state["seen"]
    state["critic"] = {name.removeprefix("0."): value for name, value in state["critic"].items()}
    torch.save(state, tmp_path / "old.pt")
    main(FeatureCriticConfig(shards, features, tmp_path / "old.pt", tmp_path / "old.parquet", **options))
    assert rows(tmp_path / "old.parquet") == rows(tmp_path / "one.parquet")

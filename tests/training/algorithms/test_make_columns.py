"""make_columns.sh as a user runs it: from samples with rewards to a file of columns, and nothing overwritten."""

import dataclasses
import json
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
from data.shards.columns import ColumnFiles, read_record, write_columns
from data.shards.shard import Sample
from tests import tiny
from tests.conftest import ROOT
from tests.training.rewarded import trajectory
from toolkits import inspect_columns
from training import algorithms
from training.algorithms.algorithm import Needs, Number
from training.algorithms.sft import Sft
from training.batches.columns import ColumnJoin
from training.critics.make_columns import MakeColumnsConfig, main, monte_carlo_values
from training.samples.experience import read_experience


@dataclasses.dataclass(frozen=True)
class Named(Sft):
    """Reads a critic's value."""

    @property
    def needs(self) -> Needs:
        return Needs({"value_1": Number()})


LENGTHS = {("A", 0): 3, ("A", 1): 2, ("A", 2): 4, ("B", 0): 1, ("B", 1): 2}
SOLVED = {("A", 0), ("B", 0), ("B", 1)}


def tries(**changes: Any) -> list[Sample]:
    """Three tries of task A, the first a success, and two of B, both; `changes` are of every sample's json."""
    plain = tiny.tries(LENGTHS, SOLVED, num_words=5, with_images=False)
    return [dataclasses.replace(sample, extra={**sample.extra, **changes}) for sample in plain]


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    return tiny.build_dataset(tmp_path / "shards", list(reversed(tries())))


def rows(path: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in parquet.read_table(path).to_pylist()}


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(ROOT / "training" / "make_columns.sh"), *map(str, arguments)]
    return subprocess.run(command, env=tiny.environment(), capture_output=True, text=True, timeout=200)


def test_monte_carlo_values_then_an_algorithms_columns(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values, output = tmp_path / "values.parquet", tmp_path / "webrl.parquet"
    main(MakeColumnsConfig(shards, values, gamma=0.5))
    found = rows(values)
    assert len(found) == sum(LENGTHS.values())
    first = found["A--00001--run0--r02--step01"]
    assert (first["outcome"], first["reward"], first["return"], first["num_tries"]) == (1.0, 0.0, 0.25, 3)
    assert (first["trajectory"], first["group"], first["step"]) == ("A--00001--run0--r02", "A--00001--r02", 1)
    others = {key[:14].replace("00001--", ""): row["value_1"] for key, row in found.items()}
    assert others == {"A--run0": 0.0, "A--run1": 0.5, "A--run2": 0.5, "B--run0": 1.0, "B--run1": 1.0}

    arguments = ("--algorithm", "webrl", "--algorithm_options", "lam=0.25", "--dataset_path", shards)
    done = run(*arguments, "--column_files", values, "--output", output)
    assert done.returncode == 0, done.stderr
    assert "advantage" in done.stdout and done.stdout.splitlines()[-1] == f"{output}: 12 samples"
    webrl = rows(output)
    assert webrl["A--00001--run0--r02--step03"]["advantage"] == pytest.approx(0.25 * 1 + 0.75 * 1)
    assert webrl["A--00001--run1--r02--step01"]["advantage"] == pytest.approx(0.75 * -0.5)
    assert webrl["A--00001--run1--r02--step02"]["advantage"] == pytest.approx(0.25 * -0.5 + 0.75 * -0.5)

    before = output.read_bytes(), output.stat().st_mtime_ns
    capsys.readouterr()
    main(MakeColumnsConfig(shards, output, "webrl", "lam=0.25", str(values)))
    assert capsys.readouterr().out == f"{output}: complete\n"
    other = run("--algorithm", "webrl", "--dataset_path", shards, "--column_files", values, "--output", output)
    assert other.returncode == 2
    said = f"{output}: was made with different options (lam=0.25, not 0.5); give another --output, or remove it"
    assert other.stderr == f"error: {said}\n"
    assert (output.read_bytes(), output.stat().st_mtime_ns) == before


def test_training_finds_what_was_made(shards: Path, tmp_path: Path) -> None:
    """Every column that a loss needs of samples is in the file that its algorithm makes, for every sample."""
    values = tmp_path / "values.parquet"
    main(MakeColumnsConfig(shards, values))
    for name in ("filtered_bc", "pae", "digirl", "grpo"):
        output = tmp_path / f"{name}.parquet"
        main(MakeColumnsConfig(shards, output, name, column_files=str(values) if name == "digirl" else ""))
        files = ColumnFiles([output], algorithms.load(name).needs.per_sample, [])
        for column in algorithms.load(name).needs.per_sample:
            assert all(files.of_sample(column, sample.id) >= -2 for sample in tries())
    made_of = read_record(output)
    assert made_of["algorithm"].startswith("grpo: Grpo(") and made_of["samples"]


def test_files_of_columns_can_be_looked_at(shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(MakeColumnsConfig(shards, tmp_path / "fbc.parquet", "filtered_bc"))
    capsys.readouterr()
    inspect_columns.main(inspect_columns.Config((tmp_path / "fbc.parquet",)))
    shown = capsys.readouterr().out
    weight = next(line for line in shown.splitlines() if "weight" in line)
    assert weight.split() == ["weight", "12", "12", "6", "0.5", "0", "1"]
    assert "made of algorithm filtered_bc: FilteredBc(rule='success'" in shown


def without(samples: list[Sample], end: str) -> list[Sample]:
    return [sample for sample in samples if not sample.id.endswith(end)]


def candidate(samples: list[Sample]) -> list[Sample]:
    first = samples[0]
    extra = Sample(f"{first.id}--c1", first.conversations, [], {**first.extra, "candidate": 1})
    return [*samples, extra]


REFUSED: dict[str, tuple[list[Sample], dict[str, Any], str]] = {
    "no rewards": (
        [Sample(s.id, s.conversations, [], {}) for s in tries()],
        {},
        "sample A--00001--run0--r02--step01: has no trajectory; convert judged trajectories",
    ),
    "unjudged": (tries(reward=None), {}, "its reward is None, which is no float"),
    "a step is missing": (
        without(tries(), "run2--r02--step02"),
        {},
        "trajectory A--00001--run2--r02: has the steps 1, 3, 4, each of which it should have once",
    ),
    "the end is missing": (
        without(tries(), "run2--r02--step04"),
        {},
        "trajectory A--00001--run2--r02: its last step, 3, is not where it ended",
    ),
    "no values": (
        tries(),
        {"algorithm": "webrl"},
        r"webrl is made of column value_1; no file of COLUMN_FILES \(not set",
    ),
    "candidates": (candidate(tries()), {"algorithm": "grpo"}, "step01--c1: is a candidate action, not one that was"),
    "no success": (tries(trajectory_reward=0), {"algorithm": "pae"}, "none of 5 trajectories succeeded"),
    "all alike": (tries(trajectory_reward=1.0), {"algorithm": "grpo"}, "in each of 2 groups all outcomes are alike"),
    "only failures": (
        tries(trajectory_reward=0, reward=0.0),
        {"algorithm": "webrl", "monte_carlo": True},
        "no step of 5 trajectories is better than expected",
    ),
    "values that Monte Carlo has not": (
        tries(),
        {"algorithm": "digiq", "monte_carlo": True},
        "digiq is made of column q_1; no file of COLUMN_FILES",
    ),
    "no algorithm": (tries(), {"algorithm": "ppo"}, "ALGORITHM=ppo: there are"),
}


@pytest.mark.parametrize(("samples", "options", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_named_and_nothing_is_written(
    samples: list[Sample], options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    folder = tiny.build_dataset(tmp_path / "shards", samples)
    with pytest.raises(UserError, match=message):
        main(MakeColumnsConfig(folder, tmp_path / "out.parquet", **options))
    assert {path.name for path in tmp_path.iterdir()} == {"shards"}


def test_values_of_other_shards_are_named(shards: Path, tmp_path: Path) -> None:
    others = [
        Sample(s.id.replace("r02", "r03"), s.conversations, [], {**s.extra, "trajectory": s.extra["trajectory"] + "x"})
        for s in tries()
    ]
    main(MakeColumnsConfig(tiny.build_dataset(tmp_path / "others", others), tmp_path / "values.parquet"))
    message = r"values\.parquet: no row for sample \S+--r02--step\d\d; it was made for other samples"
    with pytest.raises(UserError, match=message):
        files = str(tmp_path / "values.parquet")
        main(MakeColumnsConfig(shards, tmp_path / "out.parquet", "webrl", column_files=files))
    assert not (tmp_path / "out.parquet").exists()


def test_values_of_other_samples_with_the_same_ids_are_named(shards: Path, tmp_path: Path) -> None:
    """A round that was explored again has the same ids."""
    again = [
        Sample(s.id, [{**turn, "value": f"{turn['value']}!"} for turn in s.conversations], [], s.extra) for s in tries()
    ]
    main(MakeColumnsConfig(tiny.build_dataset(tmp_path / "again", again), tmp_path / "values.parquet"))
    files = str(tmp_path / "values.parquet")
    message = r"values\.parquet: sample \S+ said something else there; make it of these shards"
    with pytest.raises(UserError, match=message):
        main(MakeColumnsConfig(shards, tmp_path / "out.parquet", "webrl", column_files=files))
    join = ColumnJoin(Named(), [tmp_path / "values.parquet"])
    with pytest.raises(UserError, match=message):
        join.check(tries()[0].id, {"conversations": tries()[0].conversations})
    join.check(again[0].id, {"conversations": again[0].conversations})
    assert not (tmp_path / "out.parquet").exists()


def test_verdicts_that_were_given_anew_are_named(shards: Path, tmp_path: Path) -> None:
    main(MakeColumnsConfig(shards, tmp_path / "values.parquet"))
    turned = [
        dataclasses.replace(sample, extra={**sample.extra, "reward": 1 - sample.extra["reward"]})
        if sample.extra["done"]
        else sample
        for sample in tries()
    ]
    again, files = tiny.build_dataset(tmp_path / "again", turned), str(tmp_path / "values.parquet")
    message = r"values\.parquet: sample \S+ had the reward [01]\.0 there, and has [01]\.0 now; make it of these shards"
    with pytest.raises(UserError, match=message):
        main(MakeColumnsConfig(again, tmp_path / "out.parquet", "webrl", column_files=files))
    assert not (tmp_path / "out.parquet").exists()
    join = ColumnJoin(Named(), [tmp_path / "values.parquet"])
    last = next(sample for sample in turned if sample.extra["done"])
    with pytest.raises(UserError, match=message):
        join.check(last.id, {**last.extra, "conversations": last.conversations})
    with pytest.raises(UserError, match=r"had the reward [01]\.0 there, and has much now"):
        join.check(last.id, {**last.extra, "conversations": last.conversations, "reward": "much"})
    with pytest.raises(UserError, match="said something else there"):
        join.check(last.id, {})
    other = {**last.extra, "conversations": last.conversations, "candidate": 1}
    join.check(last.id, other)  # what else it might have done earned nothing


@pytest.mark.parametrize(
    ("now", "message"),
    [
        ({"trajectory_reward": 0.5}, r"had the outcome [01]\.0 there, and has 0\.5 now"),
        ({"group": "another"}, r"had the group [AB]--00001--r02 there, and has another now"),
    ],
)
def test_what_a_try_came_to_or_is_compared_with_has_changed(
    now: dict[str, object], message: str, shards: Path, tmp_path: Path
) -> None:
    """The text and the steps' rewards are as they were; columns of its outcome or group are not its own any more."""
    main(MakeColumnsConfig(shards, tmp_path / "grpo.parquet", "grpo"))
    join = ColumnJoin(algorithms.load("grpo"), [tmp_path / "grpo.parquet"])
    last = next(sample for sample in tries() if sample.extra["done"])
    fields = {**last.extra, "conversations": last.conversations, "logprobs": [0.0]}
    join.check(last.id, fields)
    with pytest.raises(UserError, match=f"{message}; make it of these shards"):
        join.check(last.id, {**fields, **now})


def test_perplexities_of_another_policy_are_named(shards: Path, tmp_path: Path) -> None:
    values, scores, output = (tmp_path / name for name in ("values.parquet", "scores.parquet", "webrl.parquet"))
    main(MakeColumnsConfig(shards, values))
    given = [{name: row[name] for name in ("id", "digest")} | {"perplexity": 1.5} for row in rows(values).values()]
    fields = [("id", pyarrow.string()), ("digest", pyarrow.string()), ("perplexity", pyarrow.float64())]
    write_columns(scores, [given], pyarrow.schema(fields), {"policy": "p0"})
    main(MakeColumnsConfig(shards, output, "webrl", "replay=2", str(values), scores=scores))
    reference = pyarrow.table({"id": [given[0]["id"]], "reference_logprobs": [[-1.0]]})
    parquet.write_table(reference, tmp_path / "reference.parquet")
    join = ColumnJoin(algorithms.load("webrl", "replay=2"), [output, tmp_path / "reference.parquet"])
    join.check_policy("p0", 1)
    with pytest.raises(UserError, match="critic, or the perplexities, of another policy than PRETRAIN_CHECKPOINT_PATH"):
        join.check_policy("p1", 1)
    table = parquet.read_table(values)
    write_columns(tmp_path / "of_p9", [table.to_pylist()], table.schema, {"critic_of": "p9"})
    with pytest.raises(UserError, match=r"of_p9, .*scores.parquet: values of critics, or perplexities, of different"):
        main(MakeColumnsConfig(shards, tmp_path / "no", "webrl", "replay=2", str(tmp_path / "of_p9"), scores=scores))


def test_columns_of_other_options_are_named(shards: Path, tmp_path: Path) -> None:
    main(MakeColumnsConfig(shards, tmp_path / "grpo.parquet", "grpo", "normalizer=constant"))
    paths = [tmp_path / "grpo.parquet"]
    ColumnJoin(algorithms.load("grpo", "normalizer=constant"), paths).check_maker("grpo")
    with pytest.raises(
        UserError, match=r"was made with normalizer='constant', not 'trajectory'; give make_columns\.sh"
    ):
        ColumnJoin(algorithms.load("grpo", "normalizer=trajectory"), paths).check_maker("grpo")


def test_a_try_without_others_is_expected_to_do_as_all_others_do() -> None:
    alone, failed, solved = trajectory("A", 0, 1.0, 1), trajectory("B", 0, 0.0, 1), trajectory("B", 1, 1.0, 1)
    found = monte_carlo_values([alone, failed, solved])
    assert [of_it["value_1"].item() for of_it in found] == [0.5, 1.0, 0.0]


def test_monte_carlo_values_stand_where_no_file_has_any(shards: Path, tmp_path: Path) -> None:
    main(MakeColumnsConfig(shards, tmp_path / "values.parquet"))
    files = str(tmp_path / "values.parquet")
    main(MakeColumnsConfig(shards, tmp_path / "given.parquet", "webrl", column_files=files))
    main(MakeColumnsConfig(shards, tmp_path / "filled.parquet", "webrl", monte_carlo=True))
    assert rows(tmp_path / "given.parquet") == rows(tmp_path / "filled.parquet")


@pytest.mark.slow
def test_killed_at_any_time_it_leaves_nothing_and_then_the_same_file(tmp_path: Path) -> None:
    """Killed while it reads and while it writes the file is not there; in the end it is as if never killed."""
    samples = [
        Sample(f"{s.id[:1]}{copy}{s.id[1:]}", s.conversations, [], {**s.extra, **moved(s, copy)})
        for copy in range(1500)
        for s in tries()
    ]
    shards, output = tiny.build_dataset(tmp_path / "shards", samples), tmp_path / "out" / "grpo.parquet"
    output.parent.mkdir()
    partial = output.with_name(".grpo.parquet.partial")
    arguments = ["--algorithm", "grpo", "--dataset_path", shards, "--output"]
    command = ["bash", str(ROOT / "training" / "make_columns.sh"), *map(str, arguments)]
    for is_time in (lambda waited: waited > 2, lambda _: partial.exists()):
        partial.unlink(missing_ok=True)
        child = subprocess.Popen([*command, str(output)], env=tiny.environment(), start_new_session=True)
        begin = time.monotonic()
        while child.poll() is None and not is_time(time.monotonic() - begin):
            time.sleep(0.001)
        os.killpg(child.pid, signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL and not output.exists()
    for path in (output, tmp_path / "never_killed.parquet"):
        assert run(*arguments, path).returncode == 0
    assert output.read_bytes() == (tmp_path / "never_killed.parquet").read_bytes()
    assert [path.name for path in output.parent.iterdir()] == [output.name]


def moved(sample: Sample, copy: int) -> dict[str, str]:
    """The names of a copy's trajectory and group."""
    return {name: f"{sample.extra[name][:1]}{copy}{sample.extra[name][1:]}" for name in ("trajectory", "group")}


def test_held_out_samples_are_no_experience(tmp_path: Path) -> None:
    """Of two shards the second, with the last try, is held out."""
    folder = tiny.build_dataset(tmp_path / "shards", tries())
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["shards"][1]["split"] = "val"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    found = {trajectory.id: trajectory.num_steps for trajectory in read_experience(folder, ColumnFiles([], [], []), [])}
    expected = {f"{task}--00001--run{run}--r02": length for (task, run), length in LENGTHS.items()}
    del expected["B--00001--run1--r02"]
    assert found == expected


def test_a_value_that_makes_no_sense_is_one_line() -> None:
    done = run("--dataset_path", "shards", "--output", "columns.parquet", "--gamma", "2")
    assert (done.returncode, done.stderr) == (2, "error: --gamma must be 0 to 1, not 2.0\n")


def test_a_weight_that_training_could_not_hold_is_one_line(shards: Path, tmp_path: Path) -> None:
    """exp(0.92 / 0.01) is a number here, and infinite in float32."""
    q = [{"id": sample.id, "q_1": 0.92, "q_2": 0.92, "value_1": 0.0, "value_2": 0.0} for sample in tries()]
    parquet.write_table(pyarrow.Table.from_pylist(q), tmp_path / "q.parquet")
    config = MakeColumnsConfig(
        shards, tmp_path / "out.parquet", "digiq", "loss=awr,mode=released", str(tmp_path / "q.parquet")
    )
    with pytest.raises(UserError, match=r"sample \S+: its weight would not be a finite number"):
        main(config)
    assert not config.output.exists()

"""Training over tars that others made is training over our shards of the same samples."""

import json
from pathlib import Path

import pytest
from pyarrow import parquet

from common.errors import UserError
from data.shards.shard import Sample
from tests import tiny
from tests.conftest import ROOT
from tests.forked import run_command
from tests.toolkits.interchange import shards
from tests.toolkits.readers.test_tars_of_others import energon
from tests.toolkits.readers.test_webdataset_tars import write
from tests.training.algorithms.test_make_columns import LENGTHS, SOLVED
from tests.training.conftest import train
from tests.training.critics.test_feature_critic import features_of
from training.critics import feature_critic, make_columns
from training.launch.foreign_tars import shards_to_read


def foreign(folder: Path, samples: list[Sample]) -> Path:
    """Two tars of them, in no order of ours."""
    folder.mkdir()
    for number in range(2):
        members: dict[str, bytes] = {}
        for sample in reversed(samples[number::2]):
            told = {"id": sample.id, "conversations": sample.conversations, **sample.extra}
            members[f"x/{sample.key}.json"] = json.dumps(told).encode()
            members |= {f"x/{sample.key}.{place}.PNG": image for place, image in enumerate(sample.read_images())}
        write(folder / f"theirs-{number}.tar", members)
    return folder


def own(folder: Path, samples: list[Sample]) -> Path:
    """As convert_to_tar_data.py packs them."""
    (folder / "images").mkdir(parents=True)
    records = []
    for sample in samples:
        names = [f"{sample.id}.{place}.png" for place in range(len(sample.images))]
        for name, image in zip(names, sample.read_images(), strict=True):
            (folder / "images" / name).write_bytes(image)
        records.append({"id": sample.id, "images": names, "conversations": sample.conversations, **sample.extra})
    (folder / "samples.json").write_text(json.dumps(records))
    shards(folder / "samples.json", folder / "images", folder / "shards")
    return folder / "shards"


@pytest.mark.slow
@pytest.mark.timeout(1300)
def test_train_and_score_take_them_as_they_are(megatron: Path, tmp_path: Path) -> None:
    """The scripts, started as users start them: losses and log-probabilities are equal to the bit."""
    samples = [tiny.sample(index, num_steps=1 + index % 3) for index in range(12)]
    losses, scores, alone = [], [], {"OMP_NUM_THREADS": "1"}
    for name, made in (("a", foreign(tmp_path / "theirs", samples)), ("b", own(tmp_path / "ours", samples))):
        options = {"tp": 1, "global_batch_size": 4, "train_iters": 3, "save_interval": 3}
        losses.append(train("", made, megatron, tmp_path / name, alone, **options))
        output = tmp_path / f"{name}.scores.parquet"
        flags = {"checkpoint": megatron, "dataset_path": made, "output": output, "pr": "fp32", "seq_len": 2048}
        scoring = tiny.start_script(ROOT / "training" / "score.sh", {**flags, "token_logprobs": "true"}, **alone)
        said, _ = scoring.communicate(timeout=600)
        assert scoring.returncode == 0, said
        scores.append(parquet.read_table(output).to_pylist())
    assert len(losses[0]) == 3 and losses[0] == losses[1]
    assert len(scores[0]) == 12 and scores[0] == scores[1]


def test_damaged_tars_end_the_launcher_with_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tar = foreign(tmp_path / "theirs", [tiny.sample(0), tiny.sample(1)]) / "theirs-1.tar"
    tar.write_bytes(tar.read_bytes()[:700])
    with pytest.raises(SystemExit) as ended:
        shards_to_read(tmp_path / "theirs")
    told = capfd.readouterr()
    assert ended.value.code == 2 and not told.out
    assert told.err.startswith(f"error: {tar}: ") and len(told.err.splitlines()) == 1


def test_columns_and_a_small_critic_are_those_of_our_shards(tmp_path: Path) -> None:
    """Rewards stand in the samples, whoever packed them."""
    samples, found = tiny.tries(LENGTHS, SOLVED, num_words=5, with_images=False), []
    for name, made in (("a", foreign(tmp_path / "theirs", samples)), ("b", own(tmp_path / "ours", samples))):
        values, critic, judged = (tmp_path / f"{name}.{kind}" for kind in ("parquet", "pt", "q.parquet"))
        make_columns.main(make_columns.MakeColumnsConfig(made, values))
        features = features_of(shards_to_read(made), tmp_path / f"{name}.features.parquet")
        fitting = {"train_iters": 3, "width": 8}
        feature_critic.main(feature_critic.FeatureCriticConfig(made, features, critic, judged, **fitting))
        found.append([parquet.read_table(path).to_pylist() for path in (values, judged)])
    assert found[0] == found[1] and len(found[0][0]) == sum(LENGTHS.values())


@pytest.mark.parametrize("kind", ["webdataset", "energon"])
def test_tars_without_rewards_are_one_line(kind: str, tmp_path: Path) -> None:
    made = energon(tmp_path / "set") if kind == "energon" else foreign(tmp_path / "set", [tiny.sample(0)])
    with pytest.raises(UserError, match="reward") as error:
        make_columns.main(make_columns.MakeColumnsConfig(made, tmp_path / "values.parquet"))
    assert "\n" not in str(error.value) and not (tmp_path / "values.parquet").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["webdataset", "energon"])
def test_scores_of_tars_of_others(kind: str, megatron: Path, tmp_path: Path) -> None:
    """Those of our shards of the same samples; an energon dataset needs no manifest of ours either."""
    samples = [tiny.sample(index, num_steps=1 + index % 3) for index in range(4)]
    made = energon(tmp_path / "set") if kind == "energon" else foreign(tmp_path / "set", samples)
    flags = {"checkpoint": megatron, "pr": "fp32", "seq_len": 1024, "output": tmp_path / "a.parquet"}
    run_command("training.critics.score", {**flags, "dataset_path": made})
    same = own(tmp_path / "ours", samples) if kind == "webdataset" else shards_to_read(made)
    run_command("training.critics.score", {**flags, "dataset_path": same, "output": tmp_path / "b.parquet"})
    [a, b] = (
        {row["id"]: row["logprob"] for row in parquet.read_table(tmp_path / f"{n}.parquet").to_pylist()} for n in "ab"
    )
    assert a == b and len(a) == (4 if kind == "webdataset" else 2)

"""score.sh: log-probabilities that Hugging Face's model agrees with, alike in every layout."""

import dataclasses
import math
import shutil
from pathlib import Path
from typing import Any

import pyarrow
import pytest
import torch
from pyarrow import parquet
from transformers import AutoModelForImageTextToText, AutoProcessor

from common.errors import UserError
from models.idefics2.images import ImageEncoder
from models.tokens.encoding import ConversationEncoder
from tests import tiny
from tests.forked import run_command
from training.batches.tokenize_sample import tokenize
from training.config import Config
from training.critics.score import main
from training.critics.score_config import ScoreConfig
from training.launch import launch
from training.samples.stored_sample import read_in_order


@pytest.fixture(scope="module")
def few_shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five samples, one without an image."""
    samples = [tiny.sample(index, num_steps=1 + index % 3, with_images=index != 3) for index in range(5)]
    return tiny.build_dataset(tmp_path_factory.mktemp("few") / "shards", samples)


def score(checkpoint: Path, shards: Path, output: Path, **options: object) -> list[dict[str, Any]]:
    flags = {"checkpoint": checkpoint, "dataset_path": shards, "output": output, "pr": "fp32", "seq_len": 1024}
    run_command("training.critics.score", {**flags, **options})
    return parquet.read_table(output).to_pylist()


@torch.no_grad()
def reference(policy: Path, shards: Path, temperature: float = 1.0) -> dict[str, list[float]]:
    """Each sample's reply tokens under Hugging Face's model, one sample at a time."""
    processor = AutoProcessor.from_pretrained(policy, do_image_splitting=False)
    model = AutoModelForImageTextToText.from_pretrained(policy).eval()
    encoder = ConversationEncoder(processor, ImageEncoder(processor, model.config), 1024, 3, "answer")
    expected = {}
    for stored in read_in_order(shards):
        sample = tokenize(encoder, stored.id, stored.fields, stored.find_images())
        images = [picture.decode(sample.key) for picture in sample.images]
        pixels = dict(processor.image_processor([images], return_tensors="pt")) if images else {}
        logits = model(input_ids=sample.ids[None], **pixels).logits[0, :-1]
        logprobs = (logits / temperature).log_softmax(-1).gather(1, sample.ids[1:, None])[:, 0]
        expected[sample.key] = logprobs[sample.loss_mask[1:]].tolist()
    return expected


PADDED = {"packing": "false", "batch_size": 2}
LAYOUTS = (
    *({"tp": 2, **PADDED}, {"pp": 2}, {"cp": 2}, {"dp": 2, **PADDED}),
    *({"pp": 2, "dp": 2, **PADDED}, {"tp": 2, "cp": 2, "sp": "true"}),
)
LONGER = [pytest.mark.slow, pytest.mark.timeout(1300)]


@pytest.mark.parametrize("options", [{}, *(pytest.param(layout, marks=LONGER) for layout in LAYOUTS)], ids=str)
def test_scores_are_those_of_hugging_face(
    policy: Path, megatron: Path, few_shards: Path, tmp_path: Path, options: dict[str, object]
) -> None:
    rows = score(megatron, few_shards, tmp_path / "scores.parquet", token_logprobs="true", **options)
    expected = reference(policy, few_shards)
    assert [row["id"] for row in rows] == list(expected)
    for row in rows:
        assert row["token_logprobs"] == pytest.approx(expected[row["id"]], abs=1e-4)
        assert row["logprob"] == pytest.approx(sum(expected[row["id"]]), abs=1e-3)
        assert row["num_tokens"] == len(expected[row["id"]])
        assert row["perplexity"] == pytest.approx(math.exp(-row["logprob"] / row["num_tokens"]))


def test_scores_say_whose_they_are_and_no_other_policy_trains_with_them(
    megatron: Path, few_shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, other = tmp_path / "reference.parquet", tmp_path / "other" / "megatron"
    rows = score(megatron, few_shards, output, algorithm="webrl")
    assert all(len(row["reference_logprobs"]) == row["num_tokens"] and len(row["digest"]) == 16 for row in rows)
    before = output.read_bytes()
    shutil.copytree(megatron, other)
    [weights] = other.glob("release/*.distcp")
    content = bytearray(weights.read_bytes())
    content[-5000:-4000] = bytes(1000)
    weights.write_bytes(content)

    options = {"algorithm": "webrl", "pr": "fp32", "seq_len": 1024}
    capsys.readouterr()
    main(ScoreConfig(checkpoint=megatron, dataset_path=few_shards, output=output, **options))
    assert capsys.readouterr().out == f"{output}: complete\n"
    with pytest.raises(UserError, match="was made with different policy; give another --output, or remove it"):
        main(ScoreConfig(checkpoint=other, dataset_path=few_shards, output=output, **options))
    nothing = tmp_path / "none.parquet"
    main(ScoreConfig(checkpoint=megatron, dataset_path=few_shards, output=nothing, algorithm="grpo"))
    assert "nothing to score" in capsys.readouterr().out

    advantages = tmp_path / "advantages.parquet"
    parquet.write_table(pyarrow.table({"id": [row["id"] for row in rows], "advantage": [1.0] * len(rows)}), advantages)
    training = Config(
        dataset_path=few_shards,
        pretrain_checkpoint_path=other,
        output_basepath=tmp_path / "training",
        algorithm="webrl",
        column_files=f"{advantages},{output}",
        **{"tp": 1, "pr": "fp32", "global_batch_size": 1, "seq_len": 1024},
    )
    with pytest.raises(UserError, match="column reference_logprobs was made with another policy than PRETRAIN_CHECK"):
        launch.check(training, 1)
    launch.check(dataclasses.replace(training, pretrain_checkpoint_path=megatron), 1)
    assert output.read_bytes() == before


def test_an_output_folder_that_cannot_be_made_is_refused(megatron: Path, few_shards: Path, tmp_path: Path) -> None:
    (tmp_path / "nowhere").write_text("a file")
    with pytest.raises(UserError, match="the folder of --output"):
        main(ScoreConfig(checkpoint=megatron, dataset_path=few_shards, output=tmp_path / "nowhere" / "scores.parquet"))

"""Judged tries, their columns by make_columns, and train_idefics2.sh with them: what solved a task becomes more
probable, what failed less, and a group that tells nothing is left alone."""

import math
from pathlib import Path

import pytest
from transformers import AutoConfig

from common.errors import UserError
from data.shards.shard import Sample
from models.idefics2.images import ImageEncoder
from models.processor import load_processor
from models.tokens.encoding import ConversationEncoder
from tests import tiny
from tests.training.conftest import train
from tests.training.critics.test_score import reference
from training.batches.tokenize_sample import tokenize
from training.config import Config
from training.critics.make_columns import MakeColumnsConfig, main
from training.launch.launch import check

LENGTHS = {("A", 0): 1, ("A", 1): 3, ("B", 0): 2, ("B", 1): 2}
SOLVED = {("A", 0), ("B", 0), ("B", 1)}
TEMPERATURE = 0.6


def plain_tries() -> list[Sample]:
    """Of task A one that solved it and a longer one that did not; two that solved B."""
    return tiny.tries(LENGTHS, SOLVED, num_words=20)


def sampled_tries(policy: Path, folder: Path) -> Path:
    """Shards of them, with tokens and log-probabilities as `policy` would have drawn them."""
    plain = tiny.build_dataset(folder / "plain", plain_tries())
    logprobs = reference(policy, plain, TEMPERATURE)
    processor = load_processor(policy)
    images = ImageEncoder(processor, AutoConfig.from_pretrained(policy))
    encoder = ConversationEncoder(processor, images, 1024, 3, "answer")
    samples = []
    for sample in plain_tries():
        tokens = tokenize(encoder, sample.id, {"conversations": sample.conversations}, sample.images)
        drawn = {"token_ids": tokens.ids[tokens.loss_mask].tolist(), "logprobs": logprobs[sample.id]}
        drawn |= {"sampling": {"temperature": TEMPERATURE}}
        samples.append(Sample(sample.id, sample.conversations, sample.images, {**sample.extra, **drawn}))
    return tiny.build_dataset(folder / "shards", samples)


def test_what_solved_a_task_becomes_more_probable(policy: Path, megatron: Path, tmp_path: Path) -> None:
    """The first loss, where every ratio is 1 at the temperature that was drawn at, is minus the mean advantage of the
    four steps of group A."""
    shards, columns = sampled_tries(policy, tmp_path), tmp_path / "grpo.parquet"
    main(MakeColumnsConfig(shards, columns, "grpo"))
    options = {"column_files": columns, "global_batch_size": 8, "train_iters": 4, "lr": 1e-3, "lr_warmup_iters": 0}
    schedule = {"lr_schedule": "constant", "seq_len": 1024}
    losses = train("idefics2", shards, megatron, tmp_path, algorithm="grpo", **options, **schedule)
    advantage = 0.5 / math.sqrt(0.5)
    assert losses[0] == pytest.approx(-(advantage - 3 * advantage) / 4, abs=1e-4)
    assert losses[3] < losses[0] - 0.05


def test_columns_made_for_another_algorithm_are_refused(megatron: Path, tmp_path: Path) -> None:
    """`weight` of filtered_bc is not that of pae; weighted_sft takes the weights that it is given."""
    shards, columns = tiny.build_dataset(tmp_path / "shards", plain_tries()), tmp_path / "filtered_bc.parquet"
    main(MakeColumnsConfig(shards, columns, "filtered_bc"))

    def check_for(algorithm: str) -> None:
        places = {"dataset_path": shards, "pretrain_checkpoint_path": megatron, "output_basepath": tmp_path / "out"}
        sizes = {"tp": 1, "pr": "fp32", "global_batch_size": 1, "seq_len": 1024}
        check(Config(**places, **sizes, algorithm=algorithm, column_files=str(columns)), 1)

    check_for("filtered_bc")
    check_for("weighted_sft")
    message = (
        r"column weight of COLUMN_FILES was made for ALGORITHM=filtered_bc, not for pae; make it with make_columns"
    )
    with pytest.raises(UserError, match=message):
        check_for("pae")

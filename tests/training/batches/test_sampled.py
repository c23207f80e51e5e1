"""The tokens that a policy sampled are trained on as they are, behind the prompt that it read."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from common.errors import UserError
from data.shards.shard import Sample
from models.processor import load_processor
from models.registry import family
from models.tokens.encoding import ConversationEncoder
from models.tokens.sampled import SampledReply
from tests import tiny
from training.algorithms.grpo import Grpo
from training.algorithms.sft import Sft
from training.batches.columns import ColumnJoin
from training.batches.tokenize_sample import tokenize
from training.launch.survey import Reading, check_samples

SAMPLE = tiny.sample(7, num_steps=3)
REPLY = SAMPLE.conversations[-1]["value"]


@pytest.fixture(scope="module")
def processor(policy: Path) -> Any:
    return load_processor(policy)


def tokenized(processor: Any, seq_len: int = 4096, loss: str = "answer", **fields: Any) -> Any:
    folder = Path(processor.tokenizer.name_or_path)
    images = family(folder).image_encoder(processor, family(folder).read_config(folder))
    encoder = ConversationEncoder(processor, images, seq_len, 3, loss)
    return tokenize(encoder, SAMPLE.id, {"conversations": SAMPLE.conversations, **fields}, SAMPLE.images)


def sampled_ids(processor: Any, end: str = "<end_of_utterance>") -> list[int]:
    """Another spelling of the reply than the tokenizer's own: one token a character."""
    ids = [token for letter in f" {REPLY}" for token in processor.tokenizer(letter, add_special_tokens=False).input_ids]
    return ids + (processor.tokenizer.convert_tokens_to_ids([end]) if end else [])


@pytest.mark.parametrize("end", ["<end_of_utterance>", ""])
def test_sampled_tokens_are_trained_on_as_they_are(processor: Any, end: str) -> None:
    """One cut by its length gets no end that it never said."""
    ids, plain = sampled_ids(processor, end), tokenized(processor)
    logprobs = [-0.25 - 0.5 * index for index in range(len(ids))]
    sample = tokenized(processor, token_ids=ids, logprobs=logprobs, weights_version="policy@7")
    prompt = int(plain.loss_mask.nonzero()[0])
    assert sample.ids[:prompt].equal(plain.ids[:prompt])
    assert sample.ids[prompt:].tolist() == ids != plain.ids[prompt:].tolist()
    assert sample.loss_mask.tolist() == [False] * prompt + [True] * len(ids)
    assert sample.behavior_logprobs[:prompt].isnan().all()
    assert sample.behavior_logprobs[prompt:].equal(torch.tensor(logprobs))
    assert sample.weights_version == "policy@7"
    assert plain.behavior_logprobs is None


def test_earlier_replies_are_trained_on_from_their_text(processor: Any) -> None:
    ids, plain = sampled_ids(processor), tokenized(processor, loss="all_answers")
    sample = tokenized(processor, loss="all_answers", token_ids=ids)
    prompt = len(sample.ids) - len(ids)
    assert sample.loss_mask[:prompt].equal(plain.loss_mask[:prompt]) and plain.loss_mask[:prompt].any()
    assert sample.loss_mask[prompt:].all() and sample.behavior_logprobs is None


def test_a_sampled_token_that_has_no_text_is_trained_on_too(processor: Any) -> None:
    """LLaVA-1.6's model has more rows than its tokenizer has tokens."""
    folder = Path(processor.tokenizer.name_or_path)
    images = family(folder).image_encoder(processor, family(folder).read_config(folder))
    ids = [*sampled_ids(processor), len(processor.tokenizer) + 1]
    assert not SampledReply(ids).says(processor.tokenizer, REPLY, images)
    images.vocab_size = len(processor.tokenizer) + 2
    assert SampledReply(ids).says(processor.tokenizer, REPLY, images)


def test_a_sampled_mark_of_an_image_is_trained_on_too(processor: Any) -> None:
    """As the token that it is: `ImageEncoder.is_feature` does not count it."""
    ids = [*sampled_ids(processor), processor.tokenizer.convert_tokens_to_ids("<image>")]
    assert tokenized(processor, token_ids=ids).ids[-len(ids) :].tolist() == ids


def test_the_newest_tree_gives_way_to_sampled_tokens(processor: Any) -> None:
    ids = sampled_ids(processor)
    whole = tokenized(processor, token_ids=ids)
    cut = tokenized(processor, seq_len=len(whole.ids) - 40, token_ids=ids, logprobs=[-1.0] * len(ids))
    assert len(whole.ids) - 48 < len(cut.ids) <= len(whole.ids) - 40
    assert cut.ids[-len(ids) :].tolist() == ids
    assert cut.behavior_logprobs is None  # they are of the whole prompt


def test_what_is_not_this_reply_is_tokenized_and_counted(
    processor: Any, policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another model's ids, or a reply that was written anew since."""
    ids, plain = sampled_ids(processor), tokenized(processor)
    unlike = [[99999], ids[:-4]]
    for wrong in unlike:
        sample = tokenized(processor, token_ids=wrong, logprobs=[-1.0] * len(wrong))
        assert sample.ids.equal(plain.ids) and sample.behavior_logprobs is None
    extras = [{}, {"token_ids": ids}, *({"token_ids": wrong} for wrong in unlike)]
    samples = [
        Sample(f"sample{number}", SAMPLE.conversations, SAMPLE.images, extra) for number, extra in enumerate(extras)
    ]
    shards = tiny.build_dataset(tmp_path / "shards", samples)
    check_samples(shards, Reading(policy, 4096, 3))
    assert capsys.readouterr().err == (
        f"{shards}: 3 samples hold the tokens that were sampled; "
        "2 of them say another reply under this tokenizer and are tokenized anew\n"
    )


def test_log_probabilities_of_a_prompt_that_would_be_cut_are_refused_before_training(
    processor: Any, policy: Path, tmp_path: Path
) -> None:
    ids = sampled_ids(processor)
    drawn = {"token_ids": ids, "logprobs": [-1.0] * len(ids), "advantage": 1.0, "weight": 1.0}
    extras = [{**drawn, "prompt_tokens": length - len(ids)} for length in (2000, 2048, 2049, 2091)]
    samples = [
        Sample(f"sample{number}", SAMPLE.conversations, SAMPLE.images, extra) for number, extra in enumerate(extras)
    ]
    shards = tiny.build_dataset(tmp_path / "shards", samples)
    check_samples(shards, Reading(policy, 4096, 3, join=ColumnJoin(Grpo())))
    check_samples(
        shards, Reading(policy, 2048, 3, join=ColumnJoin(Sft()))
    )  # reads no log-probabilities: the tree is cut
    with pytest.raises(
        UserError,
        match="2 of 4 samples cannot be read: sample sample2: prompt and reply have 2049 tokens, more than SEQ_LEN",
    ):
        check_samples(shards, Reading(policy, 2048, 3, join=ColumnJoin(Grpo())))
    drawn["prompt_tokens"] = 100
    anew = Sample(
        "x", SAMPLE.conversations, SAMPLE.images, {**drawn, "token_ids": ids[:-4], "logprobs": [-1.0] * len(ids[:-4])}
    )
    shards = tiny.build_dataset(tmp_path / "anew", [anew])
    with pytest.raises(UserError, match="sample x: its tokens say another reply under this tokenizer"):
        check_samples(shards, Reading(policy, 2048, 3, join=ColumnJoin(Grpo())))
    broken = Sample("x", SAMPLE.conversations, SAMPLE.images, {**drawn, "prompt_tokens": "2000"})
    shards = tiny.build_dataset(tmp_path / "broken", [broken])
    with pytest.raises(UserError, match="sample x: prompt_tokens is '2000', not a whole number"):
        check_samples(shards, Reading(policy, 2048, 3, join=ColumnJoin(Grpo())))
    check_samples(shards, Reading(policy, 2048, 3, join=ColumnJoin(Sft())))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"token_ids": [1, "2"]}, "whole numbers"),
        ({"token_ids": [1, 2], "logprobs": [-1.0]}, "2 token_ids but 1 logprobs"),
        ({"token_ids": [1], "logprobs": "none"}, "logprobs must be"),
        ({"token_ids": [1], "sampling": {"temperature": -1}}, "sampling must say a temperature"),
        ({"token_ids": [1], "sampling": {"temperature": math.nan}}, "sampling must say a temperature"),
        ({"token_ids": [1], "sampling": [0.6]}, "sampling must say a temperature"),
    ],
)
def test_broken_fields_are_named(processor: Any, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=f"{SAMPLE.id}.*{message}"):
        tokenized(processor, **fields)


def test_what_was_drawn_otherwise_is_computed_so_or_refused(processor: Any, policy: Path, tmp_path: Path) -> None:
    ids = sampled_ids(processor)
    drawn = {"token_ids": ids, "logprobs": [-1.0] * len(ids), "advantage": 1.0, "weight": 1.0}

    def checked(**sampling: float) -> None:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        extra = {**drawn, "sampling": sampling}
        shards = tiny.build_dataset(folder, [Sample("x", SAMPLE.conversations, SAMPLE.images, extra)])
        check_samples(shards, Reading(policy, 4096, 3, join=ColumnJoin(Sft())))
        check_samples(shards, Reading(policy, 4096, 3, join=ColumnJoin(Grpo())))

    checked(temperature=0.6)
    with pytest.raises(UserError, match="sample x: was drawn at temperature 0"):
        checked(temperature=0)
    for cut in ({"top_k": 50}, {"temperature": 0.6, "top_p": 0.9}):
        with pytest.raises(UserError, match="sample x: was drawn among the likeliest tokens only"):
            checked(**cut)

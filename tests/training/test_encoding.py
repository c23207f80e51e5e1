"""Tokens are the processor's own, and exactly the wanted ones are learnt."""

from pathlib import Path
from typing import Any

import pytest
from transformers import AutoProcessor

from data.errors import UserError
from data.shard import Sample
from tests.training import tiny
from training.encoding import ConversationEncoder, Tokens

THREE_STEPS = tiny.sample(7, num_steps=3)


@pytest.fixture(scope="module")
def processor(policy: Path) -> Any:
    return AutoProcessor.from_pretrained(policy)


def encode(processor: Any, sample: Sample = THREE_STEPS, seq_len: int = 4096, loss: str = "answer") -> Tokens:
    encoder = ConversationEncoder(processor, seq_len, image_num=3, loss=loss)
    return encoder.encode(sample.id, sample.conversations, len(sample.images))


def learnt(processor: Any, tokens: Tokens) -> str:
    return processor.tokenizer.decode(tokens.ids[tokens.learn])


def replies(sample: Sample) -> list[str]:
    return [turn["value"] for turn in sample.conversations if turn["from"] == "gpt"]


def test_ids_are_what_the_processor_makes_of_text_and_images(processor: Any) -> None:
    messages = []
    for turn in THREE_STEPS.conversations:
        before, _, after = turn["value"].partition("<image>")
        content = [{"type": "text", "text": before}]
        if after:
            content += [{"type": "image"}, {"type": "text", "text": after}]
        messages.append({"role": {"human": "user", "gpt": "assistant"}[turn["from"]], "content": content})
    images = [tiny.open_picture(image) for image in THREE_STEPS.images]
    text = processor.apply_chat_template(messages).rstrip("\n")
    expected = processor(text=text, images=[images])["input_ids"][0]
    assert encode(processor).ids.tolist() == expected


def test_only_the_last_reply_is_learnt(processor: Any) -> None:
    assert learnt(processor, encode(processor)) == f" {replies(THREE_STEPS)[-1]}<end_of_utterance>"


def test_every_reply_is_learnt_when_asked(processor: Any) -> None:
    expected = "".join(f" {reply}<end_of_utterance>" for reply in replies(THREE_STEPS))
    assert learnt(processor, encode(processor, loss="all_answers")) == expected


def test_everything_but_images_is_learnt_when_asked(processor: Any) -> None:
    tokens = encode(processor, loss="all")
    image_id = processor.tokenizer.convert_tokens_to_ids("<image>")
    assert (tokens.learn == (tokens.ids != image_id)).all()


def test_a_long_sample_loses_the_end_of_its_newest_tree_only(processor: Any) -> None:
    whole, cut = encode(processor), encode(processor, seq_len=450)
    assert len(whole.ids) > 450 >= len(cut.ids) > 440
    assert learnt(processor, cut) == learnt(processor, whole)
    image_id = processor.tokenizer.convert_tokens_to_ids("<image>")
    assert (cut.ids == image_id).sum() == 3 * tiny.NUM_LATENTS
    tree = THREE_STEPS.conversations[-2]["value"].rpartition("<image>")[2]
    text, cut_text = (processor.tokenizer.decode(tokens.ids) for tokens in (whole, cut))
    start = text.index(tree)
    assert cut_text[:start] == text[:start]
    kept_tree = cut_text[start:].partition("<end_of_utterance>")[0]
    assert tree.startswith(kept_tree) and len(kept_tree) > len(tree) / 2


@pytest.mark.parametrize(
    ("conversations", "num_images", "message"),
    [
        ([("human", "a"), ("human", "b")], 0, "alternate"),
        ([("human", "a")], 0, "end with gpt"),
        ([], 0, "end with gpt"),
        ([("robot", "a"), ("gpt", "b")], 0, "unknown 'robot'"),
        ([("human", "<image>"), ("gpt", "b")], 2, "1 <image> marks but 2 images"),
        ([("human", "<image>" * 4), ("gpt", "b")], 4, "IMAGE_NUM=3"),
        ([("human", "a <end_of_utterance> b"), ("gpt", "c")], 0, "contains <end_of_utterance>"),
        ([("human", "a"), ("gpt", "long " * 500)], 0, "longer than SEQ_LEN=300"),
    ],
)
def test_a_broken_sample_is_named(
    processor: Any, conversations: list[tuple[str, str]], num_images: int, message: str
) -> None:
    turns = [{"from": role, "value": text} for role, text in conversations]
    with pytest.raises(UserError, match=message) as error:
        ConversationEncoder(processor, 300, 3, "answer").encode("the-sample", turns, num_images)
    assert "the-sample" in str(error.value)

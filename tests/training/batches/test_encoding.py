"""Tokens are the processor's own, and the loss mask is on exactly the wanted ones."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoProcessor

from common.errors import UserError
from data.samples.changed_screen import with_question
from data.shards.shard import Sample
from models.images import ImageEncoder
from models.registry import family
from models.tokens.encoding import ConversationEncoder, Tokens
from tests import tiny
from tests.tiny import llava

THREE_STEPS = tiny.sample(7, num_steps=3)


@pytest.fixture(scope="module")
def processor(policy: Path) -> Any:
    return AutoProcessor.from_pretrained(policy)


def encode(processor: Any, sample: Sample = THREE_STEPS, seq_len: int = 4096, loss: str = "answer") -> Tokens:
    encoder = ConversationEncoder(processor, image_encoder(processor), seq_len, image_num=3, loss=loss)
    return encoder.encode(sample.id, sample.conversations, sizes(sample))


def image_encoder(processor: Any) -> ImageEncoder:
    """For a processor that `AutoProcessor` read from a policy's folder."""
    folder = Path(processor.tokenizer.name_or_path)
    kind = family(folder)
    return kind.image_encoder(processor, kind.read_config(folder))


def sizes(sample: Sample) -> list[tuple[int, int]]:
    pictures = [tiny.open_picture(image) for image in sample.images]
    return [(picture.height, picture.width) for picture in pictures]


def trained_on(processor: Any, tokens: Tokens) -> str:
    return processor.tokenizer.decode(tokens.ids[tokens.loss_mask])


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


def test_only_the_last_reply_is_trained_on(processor: Any) -> None:
    assert trained_on(processor, encode(processor)) == f" {replies(THREE_STEPS)[-1]}<end_of_utterance>"


def test_every_reply_is_trained_on_when_asked(processor: Any) -> None:
    expected = "".join(f" {reply}<end_of_utterance>" for reply in replies(THREE_STEPS))
    assert trained_on(processor, encode(processor, loss="all_answers")) == expected


def test_everything_but_images_is_trained_on_when_asked(processor: Any) -> None:
    tokens = encode(processor, loss="all")
    image_id = processor.tokenizer.convert_tokens_to_ids("<image>")
    assert (tokens.loss_mask == (tokens.ids != image_id)).all()


def test_a_long_sample_loses_the_end_of_its_newest_tree_only(processor: Any) -> None:
    whole, cut = encode(processor), encode(processor, seq_len=450)
    assert len(whole.ids) > 450 >= len(cut.ids) > 440
    assert trained_on(processor, cut) == trained_on(processor, whole)
    image_id = processor.tokenizer.convert_tokens_to_ids("<image>")
    assert (cut.ids == image_id).sum() == 3 * tiny.NUM_LATENTS
    tree = THREE_STEPS.conversations[-2]["value"].rpartition("<image>")[2]
    text, cut_text = (processor.tokenizer.decode(tokens.ids) for tokens in (whole, cut))
    start = text.index(tree)
    assert cut_text[:start] == text[:start]
    kept_tree = cut_text[start:].partition("<end_of_utterance>")[0]
    assert tree.startswith(kept_tree) and len(kept_tree) > len(tree) / 2


def test_a_text_that_says_the_templates_own_end_is_refused(processor: Any) -> None:
    """An end of ordinary text cannot be escaped."""
    template = processor.chat_template
    try:
        processor.chat_template = template.replace("<end_of_utterance>", "### END")
        encoder = ConversationEncoder(processor, image_encoder(processor), 300, 3, "answer")
        with pytest.raises(UserError, match="x: a text contains ### END"):
            encoder.encode("x", [{"from": "human", "value": "a ### END b"}, {"from": "gpt", "value": "c"}], [])
    finally:
        processor.chat_template = template


@pytest.mark.parametrize(
    ("conversations", "num_images", "message"),
    [
        ([("human", "a"), ("human", "b")], 0, "alternate"),
        ([("human", "a")], 0, "end with gpt"),
        ([], 0, "end with gpt"),
        ([("robot", "a"), ("gpt", "b")], 0, "unknown 'robot'"),
        ([("human", "<image>"), ("gpt", "b")], 2, "1 <image> marks but 2 images"),
        ([("human", "<image>" * 4), ("gpt", "b")], 4, "IMAGE_NUM=3"),
        ([("human", "a"), ("gpt", "long " * 500)], 0, "longer than SEQ_LEN=300"),
    ],
)
def test_a_broken_sample_is_named(
    processor: Any, conversations: list[tuple[str, str]], num_images: int, message: str
) -> None:
    turns = [{"from": role, "value": text} for role, text in conversations]
    with pytest.raises(UserError, match=message) as error:
        encoder = ConversationEncoder(processor, image_encoder(processor), 300, 3, "answer")
        encoder.encode("the-sample", turns, [(64, 48)] * num_images)
    assert "the-sample" in str(error.value)


@pytest.fixture(scope="module", params=["llava", "llava_next"])
def llava_processor(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("llava") / "hf"
    return AutoProcessor.from_pretrained(llava.build_policy(folder, is_next=request.param == "llava_next"))


def test_llavas_images_take_as_many_tokens_as_their_sizes_ask_for(llava_processor: Any) -> None:
    images = [tiny.open_picture(image) for image in THREE_STEPS.images]
    tokens = encode(llava_processor)
    text = llava_processor.tokenizer.decode(tokens.ids)
    marked = re.sub("(?:<image>)+", "<image>", text).removeprefix("<s>")
    assert tokens.ids.tolist() == llava_processor(text=marked, images=images)["input_ids"][0]


@pytest.mark.parametrize("loss", ["answer", "all_answers"])
def test_llavas_replies_are_trained_on_with_what_ends_them(llava_processor: Any, loss: str) -> None:
    wanted = replies(THREE_STEPS) if loss == "all_answers" else replies(THREE_STEPS)[-1:]
    assert trained_on(llava_processor, encode(llava_processor, loss=loss)) == "".join(f" {text}</s>" for text in wanted)


def test_a_template_without_an_end_still_teaches_to_stop(llava_processor: Any) -> None:
    """As llava-1.5's, which ends a reply with a blank."""
    template = llava_processor.chat_template
    try:
        llava_processor.chat_template = template.replace("{{ eos_token }}", "{{ ' ' }}")
        tokens = encode(llava_processor)
    finally:
        llava_processor.chat_template = template
    assert trained_on(llava_processor, tokens) == f" {replies(THREE_STEPS)[-1]}</s>"


def test_a_long_sample_of_llava_loses_the_end_of_its_newest_tree_only(llava_processor: Any) -> None:
    whole = encode(llava_processor)
    cut = encode(llava_processor, seq_len=len(whole.ids) - 40)
    assert len(whole.ids) - 45 < len(cut.ids) <= len(whole.ids) - 40
    assert trained_on(llava_processor, cut) == trained_on(llava_processor, whole)
    assert (cut.ids == llava_processor.image_token_id).sum() == (whole.ids == llava_processor.image_token_id).sum()


def test_a_critic_reads_the_end_of_the_prompt_whatever_was_replied(processor: Any) -> None:
    whole, state = encode(processor), encode(processor, loss="state")
    reply = int(whole.loss_mask.int().argmax())
    assert state.ids.tolist() == whole.ids[: reply + 1].tolist()
    assert state.loss_mask.nonzero().flatten().tolist() == [reply]
    turns = [*THREE_STEPS.conversations[:-1], {"from": "gpt", "value": "Thought: no.\nAction: GoBack"}]
    other = encode(processor, Sample(THREE_STEPS.id, turns, THREE_STEPS.images), loss="state")
    assert other.ids[:-1].tolist() == state.ids[:-1].tolist() and other.loss_mask.tolist() == state.loss_mask.tolist()


def test_features_are_read_where_prompt_and_reply_end_within_the_limit(processor: Any) -> None:
    whole = encode(processor)
    both = encode(processor, loss="state_and_action")
    assert both.ids[:-1].tolist() == whole.ids.tolist()
    assert both.loss_mask.nonzero().flatten().tolist() == [int(whole.loss_mask.int().argmax()), len(whole.ids)]
    short = encode(processor, loss="state_and_action", seq_len=len(whole.ids))
    assert len(short.ids) <= len(whole.ids) and int(short.loss_mask.sum()) == 2


def test_a_change_is_read_where_its_answer_begins_and_the_tree_before_it_is_cut(processor: Any) -> None:
    """Training on the question marks its answer; features are read at the token before, and where the prompt ends."""
    asked = dataclasses.replace(THREE_STEPS, conversations=with_question(THREE_STEPS.conversations, "NO"))
    learned, read = encode(processor, asked), encode(processor, loss="state_and_change")
    assert trained_on(processor, learned).lstrip().startswith("NO")
    marks = read.loss_mask.nonzero().flatten().tolist()
    assert marks == [int(encode(processor).loss_mask.int().argmax()), int(learned.loss_mask.int().argmax())]
    assert read.ids.tolist() == learned.ids[: len(read.ids)].tolist() and len(read.ids) == marks[1] + 1
    short = encode(processor, asked, seq_len=len(learned.ids) - 3)
    assert len(short.ids) <= len(learned.ids) - 3 and short.ids[-40:].tolist() == learned.ids[-40:].tolist()

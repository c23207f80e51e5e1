"""A checkpoint folder says what its policy sees; what differs from it is said in one line."""

import random
import shutil
from pathlib import Path

import pytest
import sentencepiece
from PIL import Image
from transformers import AutoProcessor

from common.errors import UserError
from data.checkpoint_folder import copy_hf_files
from data.conversation import split_marks
from models.idefics2 import published
from models.image_settings import ImageSettings
from models.processor import (
    load_processor,
    splits_images,
    write_chat_template,
    write_image_settings,
)
from models.registry import family
from models.text import escape, escape_around_marks, render, tokenize
from tests.tiny import llava, samples

SCREENSHOT = (768, 1024)
MESSAGES = [
    {"role": "user", "content": split_marks("Find it.\nOBSERVATION:\n<image>\n[1] link")},
    {"role": "assistant", "content": split_marks("Thought: a\n\nAction: Wait")},
    {"role": "user", "content": split_marks("OBSERVATION:\n<image>[2] link")},
]


@pytest.fixture
def released(field_processor: Path, tmp_path: Path) -> Path:
    """A released idefics2's processor and configuration, without weights: ours, and OpenWebVoyager's where it is."""
    copy = tmp_path / "copy"
    shutil.copytree(field_processor, copy, copy_function=shutil.copyfile)
    return copy


@pytest.mark.parametrize("splitting", [True, False])
def test_tokens_and_pixels_are_hugging_faces_split_or_not(released: Path, splitting: bool) -> None:
    """Two images, one of which has a word behind it: idefics2's own processor says what they must be."""
    processor = load_processor(released, ImageSettings(do_image_splitting=splitting), say=lambda _: None)
    images = family(released).image_encoder(processor, family(released).read_config(released))
    pictures = [Image.effect_noise(SCREENSHOT[::-1], 90).convert("RGB") for _ in range(2)]
    plain = processor.apply_chat_template(MESSAGES, add_generation_prompt=True)
    expected = processor(text=[plain], images=pictures, return_tensors="pt")
    text = render(processor, images, MESSAGES, [SCREENSHOT] * 2, prompt=True)
    assert tokenize(processor, text).ids == expected["input_ids"][0].tolist()
    units = 5 if splitting else 1
    assert images.num_units(*SCREENSHOT) == units
    assert images.num_tokens(*SCREENSHOT) == units * processor.image_seq_len
    assert images.encode(pictures)["pixel_values"].equal(expected["pixel_values"][0])
    assert images.process(pictures[0])["pixel_values"][0].equal(images.encode(pictures[:1])["pixel_values"])


def test_an_old_idefics2_gets_its_chat_template(released: Path) -> None:
    """Read as transformers 4.40's class default, and once written the same for every reader of the folder."""
    before = load_processor(released).apply_chat_template(MESSAGES, add_generation_prompt=True)
    assert before == (
        "User: Find it.\nOBSERVATION:\n<image>\n[1] link<end_of_utterance>\n"
        "Assistant: Thought: a\n\nAction: Wait<end_of_utterance>\n"
        "User: OBSERVATION:\n<image>[2] link<end_of_utterance>\nAssistant:"
    )
    write_chat_template(released)
    written = (released / "chat_template.jinja").read_text()
    assert load_processor(released).chat_template == written
    assert load_processor(released).apply_chat_template(MESSAGES, add_generation_prompt=True) == before
    (released / "chat_template.jinja").write_text("its own")
    write_chat_template(released)
    assert (released / "chat_template.jinja").read_text() == "its own"


def test_of_several_templates_the_default_counts_as_in_transformers(released: Path, tmp_path: Path) -> None:
    """And all of them go wherever the Hugging Face files go; without a default the family's own is used."""
    named = released / "additional_chat_templates"
    named.mkdir()
    (named / "tool_use.jinja").write_text("for tools")
    before = load_processor(released).chat_template
    write_chat_template(released)
    assert (released / "chat_template.jinja").read_text() == before
    (released / "chat_template.jinja").write_text("{{ messages[0].role }}")
    (copy := tmp_path / "megatron").mkdir()
    copy_hf_files(released, copy)
    own = load_processor(copy)
    assert own.apply_chat_template(MESSAGES) == AutoProcessor.from_pretrained(copy).apply_chat_template(MESSAGES)
    assert AutoProcessor.from_pretrained(copy).chat_template.keys() == {"default", "tool_use"}


def test_published_values_are_written_where_transformers_reads_them(released: Path, tmp_path: Path) -> None:
    """Also in the files that transformers 5 writes, which nest them."""
    saved = tmp_path / "saved"
    load_processor(released).save_pretrained(saved)
    shutil.copyfile(released / "config.json", saved / "config.json")
    for folder in (released, saved):
        assert splits_images(folder)
        write_image_settings(folder, published.IMAGES)
        images = load_processor(folder).image_processor
        assert not splits_images(folder) and not images.do_image_splitting
        screenshot = Image.new("RGB", SCREENSHOT[::-1])
        assert tuple(images([screenshot], return_tensors="pt")["pixel_values"].shape) == (1, 1, 3, 980, 980)


def test_an_override_says_in_one_line_how_it_differs_from_the_folder(released: Path) -> None:
    lines: list[str] = []
    write_image_settings(released, published.IMAGES)
    load_processor(released, published.IMAGES, lines.append)
    assert lines == []
    load_processor(released, ImageSettings(image_size=490), lines.append)
    load_processor(released, ImageSettings(do_image_splitting=True), lines.append)
    assert lines == [
        "--image_size 490 differs from what this checkpoint was trained with "
        f"({released} says longest_edge 980 shortest_edge 980)",
        "--do_image_splitting True differs from what this checkpoint was trained with "
        f"({released} says do_image_splitting False)",
    ]


def test_llavas_images_have_nothing_to_change(tmp_path: Path) -> None:
    folder = llava.build_policy(tmp_path / "hf", is_next=False)
    for settings in (ImageSettings(image_size=980), ImageSettings(do_image_splitting=True)):
        with pytest.raises(UserError, match=settings.flags().split()[0]):
            load_processor(folder, settings)
        with pytest.raises(UserError, match=settings.flags().split()[0]):
            write_image_settings(folder, settings)


def test_a_tokenizer_that_is_only_a_sentencepiece_model_is_read(tmp_path: Path) -> None:
    folder = llava.build_policy(tmp_path / "hf", is_next=False)
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "LlamaTokenizer", "extra_special_tokens": ["<image>"]}'
    )
    sentences = (samples.text(random.Random(seed), 20) for seed in range(50))
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=sentences,
        model_prefix=folder / "tokenizer",
        vocab_size=340,
        model_type="bpe",
        byte_fallback=True,
    )
    tokenizer = load_processor(folder, say=lambda _: None).tokenizer
    ids = tokenizer("winter boots", add_special_tokens=False)["input_ids"]
    assert len(ids) > 1 and tokenizer.decode(ids).strip() == "winter boots"


def test_no_special_token_can_be_spelled(released: Path) -> None:
    """Every one of a released tokenizer, in any text part; ordinary text stays as it is, and once escaped is enough."""
    processor = load_processor(released, say=lambda _: None)
    tokenizer = processor.tokenizer
    special = [token.content for token in tokenizer.added_tokens_decoder.values() if token.special]
    assert {"<unk>", "<s>", "</s>", "<end_of_utterance>"} <= set(special)
    for token in special:
        escaped = escape(tokenizer, f"a{token}{token} b")
        ids = tokenizer(escaped, add_special_tokens=False)["input_ids"]
        assert not set(ids) & set(tokenizer.all_special_ids), token
        assert escape(tokenizer, escaped) == escaped
    ordinary = "[INST] <b>x</b> <| x |> <0x0A> a < b"  # `<|x|>` could be a token of a family that is served
    assert escape(tokenizer, ordinary) == ordinary
    assert escape_around_marks(tokenizer, "<image><s>\ud83d") == "<image>< s>?"

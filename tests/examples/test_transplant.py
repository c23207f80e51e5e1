"""A Qwen3-VL made of the shipped Idefics2: it still reads pages, and is taught what trainer and server let it read."""

import random
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from models.processor import load_processor
from models.registry import family
from models.tokens.encoding import ConversationEncoder

FOLDER = Path(__file__).resolve().parent.parent.parent / "examples" / "quickstart" / "starting_policy"
sys.path.insert(0, str(FOLDER))
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import transplant

    folder = tmp_path_factory.mktemp("qwen3_vl")
    transplant.main(transplant.Config(output_dir=folder, seeing_minutes=0))
    return folder


def make_examples(number: int, **options: Any) -> list[Any]:
    from corpus import make_example

    return [make_example(random.Random(seed), 24, **options) for seed in range(number)]


def batches_of(folder: Path) -> tuple[Any, Any]:
    from pretrain import Batches, load

    model, processor = load(folder)
    return model.eval(), Batches(processor, model.config, seed=0)


def test_the_language_model_reads_pages_as_before(folder: Path) -> None:
    from transplant import agreement

    old, batches = batches_of(FOLDER / "weights")
    new, _ = batches_of(folder)
    assert agreement(old, new, batches, num_examples=6) > 0.96  # without `Heads.fill_up` 0.90


@torch.no_grad()
def test_pretraining_shows_it_what_hugging_face_would(folder: Path) -> None:
    """The same tokens, patches and positions, of a page of which something is drawn and several answers are learned."""
    model, batches = batches_of(folder)
    processor, example = load_processor(folder), make_examples(1, share_drawn=1.0)[0]
    messages = []
    for number, text in enumerate(example.turns):
        parts = [
            part for piece in text.split("<image>") for part in ({"type": "image"}, {"type": "text", "text": piece})
        ]
        messages.append({"role": ("user", "assistant")[number % 2], "content": parts[1:]})
    text = processor.apply_chat_template(messages, tokenize=False).rstrip()
    theirs = processor(text=text, images=[example.screenshot], return_tensors="pt")
    batch = batches.collate([batches.encode(example)])
    labels = batch.pop("labels")
    assert batch["input_ids"].tolist() == theirs["input_ids"].tolist()
    assert (batch["input_ids"] == model.config.image_token_id).sum() == 12
    torch.testing.assert_close(model(**batch).logits, model(**theirs).logits)
    said = processor.tokenizer.decode(labels[labels != -100])
    assert said == "".join(f"{text}<|im_end|>" for text in example.turns[example.first_target :: 2])


def test_pretraining_learns_what_the_trainer_would(folder: Path) -> None:
    """Where the last reply is the only one to learn, as in every sample of a web task."""
    kind, processor = family(folder), load_processor(folder)
    encoder = ConversationEncoder(
        processor, kind.image_encoder(processor, kind.read_config(folder)), seq_len=4096, image_num=1, loss="answer"
    )
    _, batches = batches_of(folder)
    examples = [
        example for example in make_examples(8, num_questions=0) if example.first_target + 1 == len(example.turns)
    ]
    assert examples
    for example in examples:
        turns = [{"from": ("human", "gpt")[n % 2], "value": text} for n, text in enumerate(example.turns)]
        tokens = encoder.encode("page", turns, [(example.screenshot.height, example.screenshot.width)])
        ids, labels, _ = batches.encode(example)
        assert ids.tolist() == tokens.ids.tolist()
        assert (labels != -100).tolist() == tokens.loss_mask.tolist()

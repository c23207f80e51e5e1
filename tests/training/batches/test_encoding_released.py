"""Conversations through tokenizers and chat templates of the released checkpoints' form."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoProcessor, AutoTokenizer, LlavaProcessor

from data.conversation import split_marks
from data.shards.shard import Sample
from models.idefics2 import published
from models.processor import load_processor
from models.registry import family
from models.tokens.encoding import ConversationEncoder, Tokens
from tests import tiny
from tests.conftest import ROOT
from tests.tiny import llava as tiny_llava

SAMPLE = tiny.sample(7, num_steps=3)
REPLIES = [turn["value"] for turn in SAMPLE.conversations if turn["from"] == "gpt"]

IMAGES = "{% for part in message['content'] if part['type'] == 'image' %}{{ '<image>\n' }}{% endfor %}"
TEXTS = "{% for part in message['content'] if part['type'] == 'text' %}{{ part['text'] }}{% endfor %}"
TEMPLATES = {  # (template, what ends the last reply, what ends those before it)
    "llava-1.5": (
        f"{{% for message in messages %}}{{{{ message['role'].upper() + ': ' }}}}{IMAGES}"
        + TEXTS.replace("part['text']", "part['text'] + ' '")
        + "{% endfor %}{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}",
        "</s>",
        "",
    ),
    "llava-v1.6-mistral": (
        f"{{% for message in messages %}}{{% if message['role'] == 'user' %}}{{{{ '[INST] ' }}}}{IMAGES}{TEXTS}"
        f"{{{{ ' [/INST]' }}}}{{% else %}}{{{{ ' ' }}}}{TEXTS}{{{{ '</s>' }}}}{{% endif %}}{{% endfor %}}",
        "</s>",
        "</s>",
    ),
    "llava-v1.6-34b": (
        f"{{% for message in messages %}}{{{{ '<|im_start|>' + message['role'] + '\n' }}}}{IMAGES}{TEXTS}"
        "{{ '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
        "<|im_end|>",
        "<|im_end|>",
    ),
}


@pytest.fixture(scope="module")
def tokenizer(field_processor: Path) -> Any:
    """Sentencepiece, as of Mistral, Vicuna and Yi."""
    tokenizer = AutoTokenizer.from_pretrained(field_processor)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    return tokenizer


class Llava:
    """A processor with a template, and its images."""

    def __init__(self, folder: Path, tokenizer: Any, template: str) -> None:
        tiny_llava.build_policy(folder, is_next=False)
        kind = family(folder)
        images = AutoProcessor.from_pretrained(folder).image_processor
        self.processor = LlavaProcessor(images, tokenizer, chat_template=template)
        self.images = kind.image_encoder(self.processor, kind.read_config(folder))

    def encode(self, seq_len: int = 8192, loss: str = "answer") -> Tokens:
        encoder = ConversationEncoder(self.processor, self.images, seq_len, 3, loss)
        return encoder.encode(SAMPLE.id, SAMPLE.conversations, sizes(SAMPLE))

    def prompt_ids(self) -> list[int]:
        """Of all but the last reply, as the server makes them."""
        roles = {"human": "user", "gpt": "assistant"}
        messages = [
            {"role": roles[turn["from"]], "content": split_marks(turn["value"])} for turn in SAMPLE.conversations[:-1]
        ]
        text = self.processor.apply_chat_template(messages, add_generation_prompt=True)
        return self.processor.tokenizer(self.images.expand(text, sizes(SAMPLE)))["input_ids"]


@pytest.fixture(scope="module", params=TEMPLATES)
def llava(request: pytest.FixtureRequest, tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    template, end, middle = TEMPLATES[request.param]
    return Llava(tmp_path_factory.mktemp("llava") / "hf", tokenizer, template), end, middle


def sizes(sample: Sample) -> list[tuple[int, int]]:
    pictures = [tiny.open_picture(image) for image in sample.images]
    return [(picture.height, picture.width) for picture in pictures]


def runs(tokens: Tokens) -> list[torch.Tensor]:
    """The ids of every stretch under the loss mask."""
    padded = torch.cat([torch.zeros(1), tokens.loss_mask, torch.zeros(1)]).diff()
    return [tokens.ids[first:end] for first, end in zip((padded == 1).nonzero(), (padded == -1).nonzero(), strict=True)]


def test_the_last_reply_and_its_end_are_trained_on_behind_the_very_prompt_that_is_served(llava: Any) -> None:
    model, end, _ = llava
    tokens = model.encode()
    [trained_on] = runs(tokens)
    assert model.processor.tokenizer.decode(trained_on).strip() == REPLIES[-1] + end
    assert tokens.ids[: -len(trained_on)].tolist() == model.prompt_ids()
    assert (tokens.ids == model.processor.image_token_id).sum() == 3 * model.images.patches


def test_every_reply_is_trained_on_as_the_template_ends_it(llava: Any) -> None:
    model, end, middle = llava
    trained_on = [model.processor.tokenizer.decode(run).strip() for run in runs(model.encode(loss="all_answers"))]
    assert trained_on == [reply + middle for reply in REPLIES[:-1]] + [REPLIES[-1] + end]


def test_what_is_too_long_loses_the_end_of_its_newest_tree_only(llava: Any) -> None:
    model, _, _ = llava
    whole = model.encode()
    [trained_on] = runs(whole)
    for seq_len in range(len(whole.ids) - 40, len(whole.ids), 7):
        cut = model.encode(seq_len)
        assert seq_len - 8 < len(cut.ids) <= seq_len
        assert runs(cut)[0].equal(trained_on)
        assert (cut.ids == model.processor.image_token_id).sum() == 3 * model.images.patches
        same = len(cut.ids) - len(trained_on) - 10
        assert cut.ids[:same].equal(whole.ids[:same])


def test_idefics2_learns_what_openwebvoyagers_mask_marks(field_processor: Path) -> None:
    """Theirs: what follows a newline and "Assistant:", which follow the end of an utterance, up to the next end."""
    processor = load_processor(field_processor, published.IMAGES)
    shape = ROOT / "training" / "memory" / "shapes" / "idefics2-8b"
    kind = family(shape)
    images = kind.image_encoder(processor, kind.read_config(shape))
    encoder = ConversationEncoder(processor, images, 8192, 3, "all_answers")
    tokens = encoder.encode(SAMPLE.id, SAMPLE.conversations, sizes(SAMPLE))
    colon = processor.tokenizer.convert_tokens_to_ids(":")
    ends = (tokens.ids == 32002).nonzero().flatten().tolist()
    expected = torch.zeros_like(tokens.loss_mask)
    for question, answer in zip(ends[::2], ends[1::2], strict=True):
        start = next(n for n in range(question + 1, answer) if tokens.ids[n] == colon) + 1
        opening = processor.tokenizer.convert_ids_to_tokens(tokens.ids[question + 1 : start].tolist())
        assert opening[0] == "<0x0A>" and "".join(opening[1:]) == "Assistant:"
        expected[start : answer + 1] = True
    assert tokens.loss_mask.equal(expected)

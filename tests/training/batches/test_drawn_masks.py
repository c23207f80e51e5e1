"""Whatever the template and the conversation: what is learned is the replies with their ends, or nothing is.

`MASKS=500 pytest tests/training/batches/test_drawn_masks.py -s` draws as many conversations for each template.
"""

import os
import random
from typing import Any

import pytest

from common.errors import UserError
from models.processor import load_processor
from models.registry import family
from models.tokens.encoding import ConversationEncoder
from tests.tiny import byte_level_tokenizers
from tests.tiny.families import READING, SEEING
from tests.training.drawn_conversations import FOREIGN, draw

NUM = int(os.environ.get("MASKS", "12"))
FAMILIES = SEEING | READING
NEVER_LEARNED = {"forgets the prompt", "replies as JSON"}


@pytest.fixture(scope="module", params=[*FAMILIES, *FOREIGN])
def template(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any, Any]:
    """Its name, a processor that has it, and the encoder of its images."""
    folder = tmp_path_factory.mktemp("policy") / "hf"
    FAMILIES.get(request.param, FAMILIES["qwen3"])(folder)
    processor, kind = load_processor(folder), family(folder)
    images = kind.image_encoder(processor, kind.read_config(folder))
    if request.param in FOREIGN:
        processor.tokenizer = byte_level_tokenizers.qwen3_vl()
        processor.tokenizer.chat_template = FOREIGN[request.param]
    return request.param, processor, images


def bare(text: str) -> str:
    return "".join(text.split())


def test_what_is_learned_is_the_replies_with_their_ends_or_it_is_refused(template: tuple[str, Any, Any]) -> None:
    name, processor, images = template
    encoders = {loss: ConversationEncoder(processor, images, 100_000, 3, loss) for loss in ("answer", "all_answers")}
    refused = dict.fromkeys(encoders, 0)
    for seed in range(NUM):
        conversation = draw(random.Random(f"{seed} of {name}"))
        replies = [turn["value"] for turn in conversation if turn["from"] == "gpt"]
        for loss, encoder in encoders.items():
            try:
                tokens = encoder.encode(f"drawn-{seed}", conversation, [])
            except UserError as error:
                assert str(error).startswith(f"sample drawn-{seed}: ")
                refused[loss] += 1
                continue
            learned = bare(processor.tokenizer.decode(tokens.ids[tokens.loss_mask]))
            wanted = replies if loss == "all_answers" else replies[-1:]
            normalizer = processor.tokenizer.backend_tokenizer.normalizer
            said = [bare(normalizer.normalize_str(reply) if normalizer else reply).replace("▁", "") for reply in wanted]
            ends = ["", bare(encoder.end)] if name in ("llava", "trims and ends once") else [bare(encoder.end)]
            assert learned in {
                "".join(reply + end for reply in said[:-1]) + said[-1] + bare(encoder.end) for end in ends
            }, (seed, conversation)
    print(f"{name}: {NUM} conversations, refused {refused}")
    assert (refused["answer"] == NUM) == (name in NEVER_LEARNED)

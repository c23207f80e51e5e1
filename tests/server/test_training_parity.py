"""The prompt that is served is, token for token, the beginning of the sample that was trained on."""

from pathlib import Path

import pytest

from data.conversation import StepText, build_conversation
from server.feature_cache import FeatureCache
from server.prompt import build_prompt, split_marks
from server.vision_language_model import LoadOptions, VisionLanguageModel
from server.wire_images import from_predict
from tests.server.helpers import observation, png, screenshot
from training.encoding import ConversationEncoder

SENDERS = {"user": "human", "assistant": "gpt"}


@pytest.mark.parametrize("num_steps, last_n", [(1, 3), (3, 3), (5, 2), (4, 1)])
def test_same_tokens(tiny_policy: Path, num_steps: int, last_n: int) -> None:
    model = VisionLanguageModel(tiny_policy, LoadOptions(device="cpu"))
    reply = "Thought: I look at 'é'.\n\nAction: Click [3]"
    seen = [StepText(observation(step, 6), reply=reply) for step in range(num_steps)]
    asked = [*seen[:-1], StepText(seen[-1].tree)]

    trained = build_conversation("Find <image> shoes.", seen, last_n)
    sample = [{"from": SENDERS[turn.role], "value": turn.text} for turn in trained.turns]
    ids = ConversationEncoder(model.processor, 8192, 3, "answer").encode("x", sample, len(trained.image_steps)).ids

    served = build_conversation("Find <image> shoes.", asked, last_n)
    messages = [{"role": turn.role, "content": split_marks(turn.text)} for turn in served.turns]
    images = from_predict([png(screenshot(step)) for step in served.image_steps])
    prompt = build_prompt(messages, images, model, FeatureCache(8))
    assert ids[: len(prompt.token_ids)].tolist() == prompt.token_ids
    said = model.processor.tokenizer.decode(ids[len(prompt.token_ids) :])
    assert said == f" {reply}<end_of_utterance>"

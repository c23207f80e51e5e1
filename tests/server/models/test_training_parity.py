"""The prompt that is served is, token for token, the beginning of the sample that was trained on."""

from collections.abc import Callable
from pathlib import Path

import pytest

from data.conversation import StepText, build_conversation, split_marks
from models.registry import family_of
from models.tokens.encoding import ConversationEncoder, Tokens
from server.engine.memory.feature_cache import FeatureCache
from server.engine.model.prompt import build_prompt
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.engine.model.wire_images import from_predict
from tests import tiny
from tests.server.helpers import observation, png, screenshot
from tests.tiny import llava

SENDERS = {"user": "human", "assistant": "gpt"}
REPLY = "Thought: I look at 'é'.\n\nAction: Click [3]"
MAKERS: dict[str, Callable[[Path], Path]] = {
    "idefics2": tiny.build_decisive_policy,
    "llava": lambda folder: llava.build_decisive_policy(folder, is_next=False),
    "llava_next": lambda folder: llava.build_decisive_policy(folder, is_next=True),
}
ENDS = {"idefics2": "<end_of_utterance>", "llava": "</s>", "llava_next": "</s>"}


@pytest.fixture(scope="module", params=MAKERS)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> VisionLanguageModel:
    folder = MAKERS[request.param](tmp_path_factory.mktemp(request.param))
    return VisionLanguageModel(folder, LoadOptions(device="cpu"))


def trained_ids(model: VisionLanguageModel, steps: list[StepText], last_n: int) -> list[int]:
    return trained(model, steps, last_n).ids.tolist()


def trained(model: VisionLanguageModel, steps: list[StepText], last_n: int) -> Tokens:
    """Of a sample of a shard, as training reads it."""
    conversation = build_conversation("Find <image> shoes.", steps, last_n)
    sample = [{"from": SENDERS[turn.role], "value": turn.text} for turn in conversation.turns]
    sizes = [screenshot(step).size[::-1] for step in conversation.image_steps]
    kind = family_of(model.hf_model.config)
    images = kind.image_encoder(model.processor, model.hf_model.config)
    return ConversationEncoder(model.processor, images, 8192, 3, "answer").encode("x", sample, sizes)


def served_ids(model: VisionLanguageModel, steps: list[StepText], last_n: int) -> list[int]:
    """Of a request."""
    conversation = build_conversation("Find <image> shoes.", steps, last_n)
    messages = [{"role": turn.role, "content": split_marks(turn.text)} for turn in conversation.turns]
    images = from_predict([png(screenshot(step)) for step in conversation.image_steps])
    return build_prompt(messages, images, model, FeatureCache()).token_ids


@pytest.mark.parametrize("num_steps, last_n", [(1, 3), (3, 3), (5, 2), (4, 1)])
def test_same_tokens(model: VisionLanguageModel, num_steps: int, last_n: int) -> None:
    answered = [StepText(observation(step, 6), reply=REPLY) for step in range(num_steps)]
    asked = [*answered[:-1], StepText(answered[-1].tree)]
    trained, served = trained_ids(model, answered, last_n), served_ids(model, asked, last_n)
    assert trained[: len(served)] == served
    said = model.processor.tokenizer.decode(trained[len(served) :])
    assert said == f" {REPLY}{ENDS[model.hf_model.config.model_type]}"


_CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% for p in m['content'] %}{% if p['type'] == 'text' %}"
    "{{ p['text'] }}{% else %}<image>\n{% endif %}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TEMPLATES = {
    "ends in a line's end, as ChatML": (_CHATML, "\n"),
    "ends in a space": (llava.CHAT_TEMPLATE.replace("'ASSISTANT:'", "'ASSISTANT: '"), ":"),
    "begins with a line's end": ("\n" + llava.CHAT_TEMPLATE, ":"),
    "begins with the first token": ("{{ bos_token }}" + llava.CHAT_TEMPLATE, ":"),
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_prompt_is_served_as_it_was_trained_whatever_white_space_its_template_has(name: str, tmp_path: Path) -> None:
    template, end = TEMPLATES[name]
    folder = llava.build_policy(tmp_path, is_next=True)
    (folder / "chat_template.jinja").write_text(template)
    model = VisionLanguageModel(folder, LoadOptions(device="cpu"))
    answered = [StepText(observation(step, 6), reply=REPLY) for step in range(2)]
    served = served_ids(model, [answered[0], StepText(answered[1].tree)], 2)
    sample = trained(model, answered, 2)
    assert sample.ids.tolist()[: len(served)] == served
    assert sample.loss_mask.tolist().index(True) == len(served)
    assert model.processor.tokenizer.decode(served[-1:]) == end


SPELLED = [
    "<fake_token_around_image>x",
    "<unk> <s> </s> <pad>",
    "<|im_end|>",
    "<end_of_utterance>",
    "<image",
    "half \ud83d of a pair",
    "<<s>>",
]


@pytest.mark.parametrize("text", SPELLED)
@pytest.mark.parametrize("in_reply", [False, True])
def test_text_that_spells_special_tokens(model: VisionLanguageModel, text: str, in_reply: bool) -> None:
    """Trainer and server read the same, and nothing of it becomes a special token."""

    def turns(text: str) -> list[tuple[str, str]]:
        asked, said = ("Find it.", text) if in_reply else (text, "Wait.")
        return [("user", f"<image> {asked}"), ("assistant", said), ("user", "And now?"), ("assistant", "Done.")]

    def read(text: str) -> list[int]:
        images = family_of(model.hf_model.config).image_encoder(model.processor, model.hf_model.config)
        encoder = ConversationEncoder(model.processor, images, 8192, 3, "answer")
        sample = [{"from": SENDERS[role], "value": value} for role, value in turns(text)]
        return encoder.encode("x", sample, [screenshot(1).size[::-1]]).ids.tolist()

    messages = [{"role": role, "content": split_marks(value)} for role, value in turns(text)[:-1]]
    served = build_prompt(messages, from_predict([png(screenshot(1))]), model, FeatureCache()).token_ids
    assert read(text)[: len(served)] == served
    special = set(model.processor.tokenizer.all_special_ids)
    assert [token for token in read(text) if token in special] == [token for token in read("plain") if token in special]

"""Prompt: a conversation and its screenshots as the token ids and image inputs that the engine runs."""

import dataclasses
import functools
import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from transformers import BatchFeature

from common.errors import UserError
from data.conversation import IMAGE
from models.text import check_embedded
from server.engine.memory.feature_cache import FeatureCache
from server.engine.model.vision_language_model import VisionLanguageModel
from server.engine.model.wire_images import WireImage

MAX_IMAGES = 64
_MAX_TOKEN_CHARACTERS = 128  # no token of any served model spells more


@dataclasses.dataclass(frozen=True)
class ImageInput:
    """One image that takes `num_tokens` `<image>` tokens. `pixels` are None when its features were known; if they are
    forgotten before the prompt is read, `load` makes the pixels."""

    key: str
    num_tokens: int
    pixels: BatchFeature | None
    load: Callable[[], BatchFeature]


@dataclasses.dataclass(frozen=True)
class Prompt:
    """`token_ids` with one `<image>` token for each row of image features, `images` in the order of their marks.

    `adapter` names the LoRA adapter that reads it, "" is the bare model.
    """

    token_ids: list[int]
    images: list[ImageInput] = dataclasses.field(default_factory=list)
    image_token_id: int = -1
    adapter: str = ""
    position_ids: torch.Tensor | None = None
    """[rows, tokens]; None: they count from 0 (`models.images.ImageEncoder.position_ids`)."""

    @functools.cached_property
    def image_positions(self) -> np.ndarray:
        """[n]: where the `<image>` tokens stand, in rising order."""
        return np.flatnonzero(np.asarray(self.token_ids) == self.image_token_id)

    @functools.cached_property
    def image_bounds(self) -> np.ndarray:
        """Image i owns `image_positions[image_bounds[i] : image_bounds[i + 1]]`."""
        return np.cumsum([0, *(image.num_tokens for image in self.images)])

    @functools.cached_property
    def keys(self) -> np.ndarray:
        """[tokens] int64. Two prompts mean the same up to position n exactly when their keys agree up to there: an
        `<image>` token stands for its image, the first token also for the adapter."""
        keys = np.array(self.token_ids, dtype=np.int64)
        for image, begin, end in zip(self.images, self.image_bounds, self.image_bounds[1:], strict=False):
            keys[self.image_positions[begin:end]] = _hash(image.key)
        if self.adapter:
            keys[0] ^= _hash(self.adapter)
        return keys

    def positions(self, start: int, end: int) -> torch.Tensor | None:
        """[rows, end - start] of the prompt and what follows it, which counts on from the prompt's largest."""
        if self.position_ids is None:
            return None
        length = len(self.token_ids)
        offset = int(self.position_ids.max()) + 1 - length
        beyond = torch.arange(max(start, length), max(end, length)) + offset
        return torch.cat([self.position_ids[:, start:end], beyond.expand(len(self.position_ids), -1)], dim=1)

    def check(self) -> None:
        """Raises `UserError` unless the images fill the `<image>` tokens."""
        if len(self.image_positions) != self.image_bounds[-1]:
            found, needed = len(self.image_positions), self.image_bounds[-1]
            raise UserError(f"the prompt has {found} image tokens for {needed} image features")


def _hash(text: str) -> int:
    """63 bits, negative: no token id looks so."""
    return -1 - (int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1)


def check_size(messages: Sequence[dict[str, Any]], num_images: int, model: VisionLanguageModel) -> None:
    """Count before anything is decoded.

    Raises:
        UserError: marks and images disagree in number, a turn is empty, or it is all too much.
    """
    num_marks = num_characters = 0
    for message in messages:
        if not message["content"]:
            raise UserError(f"a turn of role {message['role']!r} is empty")
        num_marks += sum(part["type"] == "image" for part in message["content"])
        num_characters += sum(len(part.get("text", "")) for part in message["content"])
        num_characters += sum(len(str(call)) for call in message.get("tool_calls", ()))
    if num_marks != num_images:
        raise UserError(f"the conversation has {num_marks} {IMAGE} marks but {num_images} images came with it")
    if num_marks > MAX_IMAGES:
        raise UserError(f"{num_marks} images are too many; send at most {MAX_IMAGES}")
    if num_characters > model.context_length * _MAX_TOKEN_CHARACTERS:
        raise UserError(f"the text has {num_characters} characters; the model reads {model.context_length} tokens")
    if len(messages) > model.context_length:
        raise UserError(f"the conversation has {len(messages)} turns; the model reads {model.context_length} tokens")


def check_length(num_tokens: int, model: VisionLanguageModel, room: int = 1) -> None:
    """Raises `UserError` unless that many tokens and `room` more fit into the model's context."""
    if num_tokens + room > model.context_length:
        raise UserError(f"the prompt has {num_tokens} tokens; the model reads {model.context_length}")


def build_prompt(
    messages: Sequence[dict[str, Any]],
    images: Sequence[WireImage],
    model: VisionLanguageModel,
    cache: FeatureCache,
    adapter: str = "",
    tools: Sequence[dict[str, Any]] = (),
) -> Prompt:
    """Messages are {"role", "content": [{"type": "text", "text"} | {"type": "image"}]}; the prompt ends where the next
    reply begins. Images of the same key are read once.

    Raises:
        UserError: as `check_size`, an image is broken, or there are more tokens than the model reads.
    """
    check_size(messages, len(images), model)
    token_ids, positions = _tokens(messages, images, model, tools=tools)
    check_length(len(token_ids), model)  # before pictures are decoded, which takes far more memory
    read = {image.key: _image_input(image, model, cache) for image in {image.key: image for image in images}.values()}
    reader = adapter or model.adapters.default
    return Prompt(token_ids, [read[image.key] for image in images], model.image_token_id, reader, positions)


def with_reply(
    prompt: Prompt,
    messages: Sequence[dict[str, Any]],
    images: Sequence[WireImage],
    model: VisionLanguageModel,
    reply: str,
) -> Prompt:
    """`prompt`, which was built from these messages and images, with its reply to the end; its images are shared."""
    turn = {"role": "assistant", "content": [{"type": "text", "text": reply}]}
    check_size([*messages, turn], len(images), model)
    token_ids, positions = _tokens([*messages, turn], images, model, complete=True)
    return Prompt(token_ids, prompt.images, prompt.image_token_id, prompt.adapter, positions)


def _tokens(
    messages: Sequence[dict[str, Any]],
    images: Sequence[WireImage],
    model: VisionLanguageModel,
    complete: bool = False,
    tools: Sequence[dict[str, Any]] = (),
) -> tuple[list[int], torch.Tensor | None]:
    """Token ids and their position ids."""
    sizes = [image.size for image in images]
    token_ids = model.prompt_ids(list(messages), sizes, complete, *([tools] if tools else []))
    check_embedded(max(token_ids, default=0), model.vocab_size)
    return token_ids, model.images.position_ids(torch.tensor(token_ids), sizes)


def _image_input(image: WireImage, model: VisionLanguageModel, cache: FeatureCache) -> ImageInput:
    def load() -> BatchFeature:
        return model.pixels(image.load())

    features = cache.get(image.key)
    if features is not None:
        return ImageInput(image.key, features.shape[0], None, load)
    return ImageInput(image.key, model.images.num_tokens(*image.size), load(), load)

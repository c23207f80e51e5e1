"""Prompt: a conversation and its screenshots as the token ids and image inputs that the engine runs."""

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

import torch
from transformers import BatchFeature

from data.conversation import IMAGE, escape_special
from data.errors import UserError
from server.feature_cache import FeatureCache
from server.vision_language_model import VisionLanguageModel
from server.wire_images import WireImage


@dataclasses.dataclass(frozen=True)
class ImageInput:
    """One image: its `features` when they are known already, else its `pixels`."""

    key: str
    features: torch.Tensor | None
    pixels: BatchFeature | None


@dataclasses.dataclass(frozen=True)
class Prompt:
    """`token_ids` as the processor gives them, `images` in the order of their marks."""

    token_ids: list[int]
    images: list[ImageInput]


def split_marks(content: str) -> list[dict[str, Any]]:
    """`text <image> text` -> chat template parts."""
    pieces = re.split(f"({IMAGE})", content)
    return [{"type": "image"} if piece == IMAGE else {"type": "text", "text": piece} for piece in pieces if piece]


def build_prompt(
    messages: Sequence[dict[str, Any]], images: Sequence[WireImage], model: VisionLanguageModel, cache: FeatureCache
) -> Prompt:
    """Messages are {"role", "content": [{"type": "text", "text"} | {"type": "image"}]}.

    Text that spells a special token is broken up, so that a page can neither add images nor end a turn.

    Raises:
        UserError: marks and images disagree in number, an image is broken, or a turn is empty.
    """
    num_marks = 0
    escaped = []
    for message in messages:
        if not message["content"]:
            raise UserError(f"a turn of role {message['role']!r} is empty")
        parts = [part if part["type"] == "image" else _escape(part) for part in message["content"]]
        num_marks += sum(part["type"] == "image" for part in parts)
        escaped.append({"role": message["role"], "content": parts})
    if num_marks != len(images):
        raise UserError(f"the conversation has {num_marks} {IMAGE} marks but {len(images)} images came with it")
    return Prompt(model.prompt_ids(escaped), [_image_input(image, model, cache) for image in images])


def _escape(part: dict[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": escape_special(part["text"])}


def _image_input(image: WireImage, model: VisionLanguageModel, cache: FeatureCache) -> ImageInput:
    features = cache.get(image.key)
    return ImageInput(image.key, features, model.pixels(image.load()) if features is None else None)

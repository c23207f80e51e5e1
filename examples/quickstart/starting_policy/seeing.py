"""The vision side learns to name what it sees, before the language model asks it anything.

It stands for an image encoder's own pre-training on captions: token by token it is brought to the embedding of the word
for what is drawn (color, shape, color, shape, ...), and of `<image>` where there is nothing more. From there copy heads
take the words, as they take those of the page. Left to the language model's loss alone nothing was seen after two
thousand questions about pictures: at first image tokens hardly differ between one picture and another.
"""

import math
import random
import time
from collections.abc import Sequence

import torch
from corpus.chains import DRAWN
from corpus.pages import make_page
from corpus.pictures import render
from corpus.words import Words
from PIL import Image
from torch import Tensor
from transformers import PreTrainedModel, ProcessorMixin

BATCH = 32
LEARNING_RATE = 2e-3


class Naming:
    """The loss of naming what is on fresh pictures. `right`: the share of words that were named right of late."""

    def __init__(self, model: PreTrainedModel, processor: ProcessorMixin, seed: int):
        self.model, self.processor, self.rng = model, processor, random.Random(seed)
        self.right = 0.0

    def loss(self, num_images: int) -> Tensor:
        """Of so many pictures; the embeddings stay as they are."""
        images, words = zip(*[_example(self.rng) for _ in range(num_images)], strict=True)
        seen = image_tokens(self.model, make_pixels(self.processor, images), num_images)
        targets, named = self._targets(words, seen.shape[1])
        embedding = self.model.get_input_embeddings().weight.detach()
        nearness = torch.nn.functional.linear(seen, embedding, -embedding.square().sum(1) / 2)  # of each word
        if named.any():
            said = nearness[named].argmax(-1) == targets[named]
            self.right = 0.98 * self.right + 0.02 * said.float().mean().item()
        distance = (seen - embedding[targets]).square().mean()
        return distance + 0.1 * torch.nn.functional.cross_entropy(nearness.flatten(0, 1), targets.flatten())

    def _targets(self, words: tuple[list[str], ...], num_tokens: int) -> tuple[Tensor, Tensor]:
        """The first token of each word, an image's behind them; and where there is a word: both [images, tokens]."""
        tokenizer, nothing = self.processor.tokenizer, self.model.config.image_token_id
        first = [[tokenizer(word, add_special_tokens=False).input_ids[0] for word in each] for each in words]
        targets = torch.tensor([ids + [nothing] * (num_tokens - len(ids)) for ids in first])
        return targets, targets != nothing


def learn_to_see(model: PreTrainedModel, processor: ProcessorMixin, minutes: float) -> float:
    """Train vision tower and connector; returns the share of words that were named right last."""
    weights = list(_vision_weights(model).values())
    optimizer = torch.optim.AdamW(weights, lr=LEARNING_RATE, betas=(0.9, 0.95), weight_decay=0.0)
    naming, begin = Naming(model, processor, seed=5), time.monotonic()
    while (progress := (time.monotonic() - begin) / (60 * minutes)) < 1:
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * min(1.0, 2 * (1 - progress))
        naming.loss(BATCH).backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return naming.right


def make_pixels(processor: ProcessorMixin, pictures: Sequence[Image.Image]) -> dict[str, Tensor]:
    """What a vision side takes of pictures of one size: no mask is needed."""
    pixels = processor.image_processor([[picture] for picture in pictures], return_tensors="pt")
    return {name: value for name, value in pixels.items() if name != "pixel_attention_mask"}


def image_tokens(model: PreTrainedModel, pixels: dict[str, Tensor], num_images: int) -> Tensor:
    """What stands in for image tokens, [images, tokens, hidden]."""
    return torch.cat(list(model.model.get_image_features(**pixels).pooler_output)).unflatten(0, (num_images, -1))


@torch.no_grad()
def start_vision(model: PreTrainedModel) -> None:
    """Weights that keep the size of what goes through them: with 0.02 everywhere pictures vanish on the way."""
    for name, weight in _vision_weights(model).items():
        if any(part in name for part in ("position_embedding", "pos_embed", "latents")):
            weight.normal_(0, 0.5)
        elif weight.dim() > 1:
            weight.normal_(0, 1 / math.sqrt(weight[0].numel()))


def _vision_weights(model: PreTrainedModel) -> dict[str, Tensor]:
    """All but the language model's."""
    language = ("text_model", "language_model", "lm_head")
    return {name: weight for name, weight in model.named_parameters() if not any(part in name for part in language)}


def _example(rng: random.Random) -> tuple[Image.Image, list[str]]:
    page = make_page(Words(rng), rng.randint(4, 24), rng.choice((*DRAWN, "catalog")) if rng.random() < 0.9 else "")
    lines = [(element.role, element.name) for element in page.elements]
    return render(rng, lines, page.drawing), page.drawing.words() if page.drawing else []

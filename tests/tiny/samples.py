"""Data for tiny policies: random words, pictures, conversations and shards of them."""

import contextlib
import io
import random
from collections.abc import Collection
from pathlib import Path
from typing import Any
from unittest import mock

from PIL import Image

from data.samples.rewarded_step import reward_fields
from data.shards import shard
from data.shards.shard import Sample, write_shards
from toolkits.shards.energon_index import write_energon_index

_WORDS = "shop cart search button link textbox flight Berlin winter boots price stock review page next 42 17".split()


def text(rng: random.Random, num_words: int) -> str:
    """Words of a small vocabulary, a few on each line."""
    return "".join(rng.choice(_WORDS) + rng.choice([" ", " ", "\n\t"]) for _ in range(num_words))


def picture(rng: random.Random, width: int, height: int) -> bytes:
    """A PNG of one colour with a rectangle of another."""
    image = Image.new("RGB", (width, height), tuple(rng.randrange(256) for _ in range(3)))
    image.paste(tuple(rng.randrange(256) for _ in range(3)), (width // 4, height // 4, width // 2, height // 2))
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def open_picture(encoded: bytes) -> Image.Image:
    """What a sample's image shows."""
    return Image.open(io.BytesIO(encoded)).convert("RGB")


def sample(index: int, num_steps: int = 1, num_words: int = 60, with_images: bool = True) -> Sample:
    """One conversation of `num_steps` observations and replies, the newest with a tree; image sizes differ."""
    rng = random.Random(index)
    conversations, images = [], []
    for step in range(num_steps):
        newest = step == num_steps - 1
        mark = "<image>" if with_images else "no screenshot"
        tree = f"{mark}\n{text(rng, num_words)}" if newest else f"{mark} (accessibility tree omitted)."
        question = f"Find {text(rng, 3)}\n" if step == 0 else ""
        conversations.append({"from": "human", "value": f"{question}OBSERVATION:\n{tree}"})
        conversations.append({"from": "gpt", "value": f"Thought: {text(rng, 8)}\nAction: Click [{rng.randrange(99)}]"})
        if with_images:
            images.append(picture(rng, *rng.choice([(64, 48), (96, 96), (40, 90)])))
    return Sample(f"task--{index:05d}--step{num_steps:02d}", conversations, images)


def tries(
    lengths: dict[tuple[str, int], int], solved: Collection[tuple[str, int]], num_words: int, **options: Any
) -> list[Sample]:
    """The steps, `lengths` by (task, number of the try), of tries, those that `solved` their task with its reward;
    `options` are of `sample`."""
    samples = []
    for (task, run), length in lengths.items():
        ids = [f"{task}--00001--run{run}--r02--step{step:02d}" for step in range(1, length + 1)]
        for identifier, fields in zip(ids, reward_fields(ids, (task, run) in solved), strict=True):
            plain = sample(len(samples), num_words=num_words, **options)
            samples.append(Sample(identifier, plain.conversations, plain.images, fields))
    return samples


def build_dataset(
    folder: Path, samples: list[Sample] | None = None, share_images: bool = False, of_others: bool = False
) -> Path:
    """Shards, with energon's index, of `samples`; by default 24 of 1 to 3 steps, every fifth without an image. Tars
    `of_others` may hold broken images, which ours refuse to."""
    folder.mkdir(parents=True)
    samples = samples or [sample(index, num_steps=1 + index % 3, with_images=index % 5 != 4) for index in range(24)]
    with mock.patch.object(shard, "check_whole") if of_others else contextlib.nullcontext():
        manifest = write_shards(folder, samples, max_samples=10, source={}, share_images=share_images)
    write_energon_index(folder, [shard["url"] for shard in manifest["shards"]])
    return folder

"""The samples that `benchmarks/training.py` trains on: drawn with the lengths of the embedded sites or of real
applications' pages, or a user's own.

python -m benchmarks.training_samples --dataset_path runs/quickstart/IL/shards     # measures those of the sites again
python -m benchmarks.page_lengths --help                                           # those of real pages
"""

import dataclasses
import io
import random
from itertools import islice
from pathlib import Path
from typing import Literal

import torch
from PIL import Image

from common import cli
from common.files import read_json, write_json
from models.processor import load_processor
from models.registry import family
from models.tokens.encoding import ConversationEncoder
from training import config as train_config
from training.algorithms.sft import Sft
from training.batches.collate import TokenizedSample
from training.batches.columns import ColumnJoin, SampleColumns
from training.batches.tokenize_sample import tokenize
from training.modules import kernels
from training.samples.pictures import Picture, read_picture
from training.samples.stored_sample import read_in_order

STARTING_POLICY = Path(__file__).resolve().parent.parent / "examples" / "quickstart" / "starting_policy" / "weights"
Lengths = Literal["sites", "pages", "trajectories"]
LENGTHS: dict[str, Path] = {
    "sites": Path(__file__).with_name("trajectory_lengths.json"),
    "pages": Path(__file__).with_name("page_lengths.json"),
}
"""{"lengths": [[tokens, tokens of the reply, samples], ...]}: of the quickstart's imitation round on the embedded
sites, as its policy's tokenizer counts them; of pages of real applications, as idefics2's does."""
_SCREENSHOTS = ((1024, 768), (1280, 720), (800, 1000))
_SEED = 0


def draw(lengths: Lengths, count: int, vocab_size: int, image_token: int, latents: int) -> list[TokenizedSample]:
    """`count` samples of random tokens, each with one screenshot, of drawn lengths; always the same."""
    chosen = _choose(random.Random(_SEED), lengths, count)
    picture = screenshot(_SCREENSHOTS[0])
    return [
        _sample(number, length, reply, [picture], vocab_size, image_token, latents)
        for number, (length, reply) in enumerate(chosen)
    ]


def draw_trajectories(count: int, vocab_size: int, image_token: int, latents: int) -> list[list[TokenizedSample]]:
    """The turn samples of `count` trajectories of 3 to 7 steps. One of two is at points: a step goes on from the one
    before, with its screenshot and 40 to 160 tokens, every fourth without the screenshot. The others have the lengths
    of pages with trees and one to three screenshots. Always the same."""
    rng, pictures = random.Random(_SEED), [screenshot(size) for size in _SCREENSHOTS]
    trajectories = []
    for number in range(count):
        images = [rng.choice(pictures) for _ in range(rng.randint(3, 7))]
        if number % 2:
            pages = enumerate(_choose(rng, "pages", len(images)), start=1)
            found = [
                _sample(
                    100 * number + step, *lengths, images[max(0, step - 3) : step], vocab_size, image_token, latents
                )
                for step, lengths in pages
            ]
        else:
            found = _at_points(rng, number, images, vocab_size, image_token, latents)
        trajectories.append(found)
    return trajectories


def _choose(rng: random.Random, lengths: Lengths, count: int) -> list[tuple[int, int]]:
    """(tokens, tokens of the reply) of `count` samples."""
    *pairs, weights = zip(*read_json(LENGTHS[lengths])["lengths"], strict=True)
    return rng.choices(list(zip(*pairs, strict=True)), weights, k=count)


def _sample(
    number: int, length: int, reply: int, pictures: list[Picture], vocab_size: int, image_token: int, latents: int
) -> TokenizedSample:
    ids = _random_tokens(number, length, vocab_size, image_token)
    ids[1 : 1 + latents * len(pictures)] = image_token
    loss_mask = torch.arange(length) >= length - reply
    return TokenizedSample(f"sample-{number}", ids, loss_mask, pictures, SampleColumns({"weight": 1.0}))


def _at_points(
    rng: random.Random, number: int, pictures: list[Picture], vocab_size: int, image_token: int, latents: int
) -> list[TokenizedSample]:
    whole = _random_tokens(100 * number, (latents + 200) * len(pictures), vocab_size, image_token)
    steps, seen, length = [], [], 1
    for step, picture in enumerate(pictures):
        if step % 4 != 3:
            whole[length : length + latents] = image_token
            seen, length = [*seen, picture], length + latents
        reply = rng.randint(20, 40)
        length += rng.randint(40, 160) + reply
        loss_mask = torch.arange(length) >= length - reply
        name, columns = f"sample-{100 * number + step}", SampleColumns({"weight": 1.0})
        steps.append(TokenizedSample(name, whole[:length], loss_mask, seen, columns))
    return steps


def _random_tokens(seed: int, length: int, vocab_size: int, image_token: int) -> torch.Tensor:
    """Any but an image's."""
    ids = torch.randint(vocab_size - 1, (length,), generator=torch.Generator().manual_seed(seed))
    return ids + (ids >= image_token)


def screenshot(size: tuple[int, int]) -> Picture:
    """A PNG, neither blank nor noise."""
    gradient = Image.linear_gradient("L").resize(size)
    file = io.BytesIO()
    Image.merge("RGB", [gradient, gradient.rotate(90), gradient.rotate(180)]).save(file, "PNG")
    return read_picture("screenshot", file.getvalue())


def read(folder: Path, count: int | None, encoder: ConversationEncoder) -> list[TokenizedSample]:
    """The first `count` samples (None: all) of a folder of shards, whose order the converter has shuffled."""
    samples = islice(read_in_order(folder, splits=("train",)), count)
    join = ColumnJoin(Sft())
    return [tokenize(encoder, sample.id, sample.fields, sample.find_images(), join) for sample in samples]


def count_lengths(samples: list[TokenizedSample]) -> list[list[int]]:
    """[tokens, tokens of the reply, samples], sorted; the tokens in front of the reply are rounded to 16."""
    counts: dict[tuple[int, int], int] = {}
    for sample in samples:
        reply = int(sample.loss_mask.sum())
        front = round((len(sample.ids) - reply) / 16) * 16
        counts[front + reply, reply] = counts.get((front + reply, reply), 0) + 1
    return [[*pair, count] for pair, count in sorted(counts.items())]


@dataclasses.dataclass(frozen=True)
class Config:
    """Count the lengths of a folder's samples."""

    dataset_path: Path
    """Folder of shards."""
    policy: Path = STARTING_POLICY
    """Hugging Face folder whose processor counts."""
    output: Path = LENGTHS["sites"]
    """A JSON file for the lengths."""


def main(config: Config) -> None:
    """Read every sample, count, write, say the mean."""
    kernels.prepare()
    from training.train import build_encoder

    kind = family(config.policy)
    options = train_config.Config(config.dataset_path, config.policy)
    processor = load_processor(config.policy)
    images = kind.image_encoder(processor, kind.read_config(config.policy))
    samples = read(config.dataset_path, None, build_encoder(options, processor, images))
    lengths = [len(sample.ids) for sample in samples]
    counted = {"samples": len(samples), "lengths": count_lengths(samples)}
    write_json(config.output, counted, indent=None)
    print(f"{len(lengths)} samples, {sum(lengths) / len(lengths):.0f} tokens on average, {max(lengths)} most")


if __name__ == "__main__":
    cli.run(Config, main)

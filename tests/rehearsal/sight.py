"""Whether training and serving see the same: token ids and pixels of every sample, and Hugging Face's own of it."""

import dataclasses
import io
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from data.conversation import split_marks
from data.samples.turn_samples import sample_id
from data.shards.shard import Sample, read_manifest, read_shard
from data.trajectory import list_trajectories, read_trajectory
from models.processor import load_processor
from models.registry import family
from models.tokens.encoding import ConversationEncoder

_ROLES = {"human": "user", "gpt": "assistant"}


@dataclasses.dataclass
class Sight:
    """What was compared, and how much of it was not the same."""

    tokens: int = 0
    pixels: int = 0
    other_tokens: int = 0
    other_pixels: int = 0
    other_lengths: int = 0
    """Prompts that the server read with another number of tokens."""


def compare(trained: Path, served: Path, shards: Path, trajectories: Path) -> Sight:
    """Prompts of all samples in `shards`: the trainer's by the files of `trained`, a checkpoint folder, Hugging Face's
    processor by those of `served`, and the server's as it counted their tokens in `trajectories`."""
    kind = family(trained)
    hf = kind.read_config(trained)
    own, reference = load_processor(trained), load_processor(served)
    images = kind.image_encoder(own, hf)
    encoder = ConversationEncoder(own, images, 10**6, 10**6, "answer")
    counted, sight = _prompt_tokens(trajectories), Sight()
    for entry in read_manifest(shards)["shards"]:
        for sample in read_shard(shards / entry["url"]):
            pictures = [Image.open(io.BytesIO(image)).convert("RGB") for image in sample.images]
            sizes = [(picture.height, picture.width) for picture in pictures]
            tokens = encoder.encode(sample.id, sample.conversations, sizes)
            prompt = tokens.ids[: int(tokens.loss_mask.nonzero()[0])]
            expected = _by_hugging_face(reference, sample, pictures)
            _add(sight, prompt, images.encode(pictures)["pixel_values"], expected)
            sight.other_lengths += counted[sample.id] != len(prompt)
    return sight


def _prompt_tokens(trajectories: Path) -> dict[str, int]:
    """As the server said, by sample."""
    read = [read_trajectory(folder) for folder in list_trajectories(trajectories)]
    return {sample_id(one, 1, step.number): step.prompt_tokens for one in read for step in one.steps}


def _by_hugging_face(processor: Any, sample: Sample, pictures: list[Image.Image]) -> Any:
    turns = sample.conversations[:-1]
    messages = [{"role": _ROLES[turn["from"]], "content": split_marks(turn["value"])} for turn in turns]
    text = processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    return processor(text=[text], images=[pictures], return_tensors="pt")


def _add(sight: Sight, prompt: torch.Tensor, pixels: torch.Tensor, expected: Any) -> None:
    ids, values = expected["input_ids"][0], expected["pixel_values"]
    values = values.flatten(0, 1) if values.dim() > pixels.dim() else values  # of images and their parts
    sight.tokens += len(prompt)
    sight.pixels += pixels.numel()
    sight.other_tokens += len(prompt) if len(ids) != len(prompt) else int((ids != prompt).sum())
    sight.other_pixels += pixels.numel() if values.shape != pixels.shape else int((values != pixels).sum())

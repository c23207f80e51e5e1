"""Every sample of a data set, looked at before any GPU starts: an error after an hour of training is an hour lost."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.conversation import IMAGE
from data.shard import parse_fields
from data.tar import scan
from data.whole_trajectory import split_steps
from models.family import NO_IMAGES
from models.processor import load_processor, to_stderr
from models.registry import family
from training.columns import ColumnJoin
from training.sampled import SampledReply


def check_samples(
    folder: Path,
    manifest: dict[str, Any],
    image_num: int,
    hf_files: Path,
    join: ColumnJoin | None = None,
    seq_len: int | None = None,
) -> None:
    """`UserError` for a sample whose `<image>` marks are not as many as its images, or more than `image_num`, or any
    where the model in `hf_files` reads none; or whose sampled tokens are none, or which lacks a column that `join`
    wants of all training samples; or one whose log-probabilities `join` wants, but whose prompt does not hold in
    `seq_len` as the policy read it. Only tar headers and json members are read, no image.

    One line says how many samples hold the tokens that were sampled, and how many of those the tokenizer in `hf_files`
    reads as something else: these are tokenized from their text.
    """
    tokens, reads_images = _SampledTokens(hf_files), family(hf_files).reads_images
    lengths: list[int] = []
    for entry in manifest["shards"]:
        for fields, num_images in _read_counts(folder / entry["url"]):
            marks = sum(turn["value"].count(IMAGE) for turn in fields["conversations"] if turn["from"] == "human")
            if marks != num_images:
                raise UserError(f"sample {fields['id']}: {marks} {IMAGE} marks but {num_images} images")
            if num_images and not reads_images:
                raise UserError(f"sample {fields['id']}: {num_images} images, but {NO_IMAGES}")
            if num_images > image_num:
                raise UserError(f"sample {fields['id']}: {num_images} images, more than IMAGE_NUM={image_num}")
            for step in split_steps(fields):
                is_unlike = tokens.count(step)
                if join and entry.get("split") != "val":
                    join.check(step["id"], step)
                    if join.reads_behavior:
                        lengths.append(_length_of_sampled(step, is_unlike))
    if seq_len:
        _check_lengths(folder, lengths, seq_len)
    tokens.report(folder)


def _length_of_sampled(fields: dict[str, Any], is_unlike: bool) -> int:
    """Tokens of prompt and reply, as the policy read and wrote them; without the prompt's where nobody counted them."""
    if is_unlike:
        raise UserError(
            f"sample {fields['id']}: its tokens say another reply under this tokenizer, so the log-probabilities that "
            "the algorithm needs are not of it; leave it out"
        )
    num_prompt = fields.get("prompt_tokens", 0)
    if type(num_prompt) is not int:
        raise UserError(f"sample {fields['id']}: prompt_tokens is {num_prompt!r}, not a whole number")
    return num_prompt + len(fields.get("token_ids") or ())


def _check_lengths(folder: Path, lengths: list[int], seq_len: int) -> None:
    too_long = [length for length in lengths if length > seq_len]
    if too_long:
        raise UserError(
            f"{folder}: {len(too_long)} samples have up to {max(too_long)} tokens, more than SEQ_LEN={seq_len}; the "
            "algorithm needs the log-probabilities that they were drawn with, which are of the whole prompt. Give a "
            "larger SEQ_LEN, or leave them out"
        )


class _SampledTokens:
    """How many samples hold the tokens that were sampled, and how many of these say another reply."""

    def __init__(self, hf_files: Path) -> None:
        self._hf_files, self._tokenizer, self._images = hf_files, None, None
        self.num, self.num_unlike = 0, 0

    def count(self, fields: dict[str, Any]) -> bool:
        """Whether it holds tokens, and these say another reply."""
        try:
            sampled = SampledReply.of(fields)
        except UserError as error:
            raise UserError(f"sample {fields['id']}: {error}") from None
        if not sampled:
            return False
        self._load()
        is_unlike = not sampled.says(self._tokenizer, fields["conversations"][-1]["value"], self._images)
        self.num += 1
        self.num_unlike += is_unlike
        return is_unlike

    def _load(self) -> None:
        if self._tokenizer is None:
            processor, kind = load_processor(self._hf_files), family(self._hf_files)
            self._tokenizer = processor.tokenizer
            self._images = kind.image_encoder(processor, kind.read_config(self._hf_files))

    def report(self, folder: Path) -> None:
        if self.num:
            unlike = f"; {self.num_unlike} of them say another reply under this tokenizer and are tokenized anew"
            to_stderr(
                f"{folder}: {self.num} samples hold the tokens that were sampled{unlike if self.num_unlike else ''}"
            )


def _read_counts(path: Path) -> Iterator[tuple[dict[str, Any], int]]:
    """(json member, number of images) of every sample of a tar."""
    with open(path, "rb") as file:
        for key, group in itertools.groupby(scan(path), key=lambda member: member.name.split(".")[0]):
            members = list(group)
            texts = [member for member in members if member.name == f"{key}.json"]
            content = os.pread(file.fileno(), texts[0].size, texts[0].offset) if texts else b""
            fields = parse_fields(key, content)
            yield fields, len(fields["images"]) if "images" in fields else len(members) - 1

"""Every sample of a data set, tokenized before any GPU starts: an error after an hour of training is an hour lost.

What was found is kept beside the shards: a run of the same samples, tokenizer and options does not look again.
"""

import contextlib
import dataclasses
import hashlib
import itertools
import json
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import file_digest, write_json
from common.parallel import run_parallel
from data.checkpoint_folder import fingerprint
from data.conversation import IMAGE
from data.image_check import check_encoded
from data.shards.shard import read_manifest
from models.family import NO_IMAGES
from models.processor import load_processor, to_stderr
from models.registry import family
from models.text import escape
from models.tokens.encoding import ConversationEncoder, Reads
from models.tokens.sampled import SampledReply
from training.batches.columns import ColumnJoin
from training.batches.tokenize_sample import tokenize
from training.samples.left_out import BadSample, LeftOut
from training.samples.pictures import FilePart, broken
from training.samples.stored_sample import StoredSample, samples_of

_FORMAT = 5
_CHUNK = 200
"""Samples that a process looks at in one go."""
_NAMED = 3
"""Bad samples that the error names."""


@dataclasses.dataclass(frozen=True)
class Reading:
    """How a run reads samples: what decides whether it can. `join`: of the columns of training samples."""

    hf_files: Path
    seq_len: int
    image_num: int
    reads: Reads = "answer"
    join: ColumnJoin | None = None

    def key(self, folder: Path) -> str:
        """A digest of all of it and of the samples in `folder`."""
        files = [fingerprint(self.hf_files, kind) for kind in ("*.json", "*.jinja", "*/*.jinja", "*.model")]
        columns = [self.join.signature] if self.join else []
        told = [_FORMAT, self.seq_len, self.image_num, self.reads, columns, files]
        told += [version("transformers"), version("tokenizers"), file_digest(folder / "manifest.json")]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


@dataclasses.dataclass
class Found:
    """Among `num_samples`: the bad ones, and how many hold the tokens that were sampled, or such of another reply. Of
    the others, how many lose the end of their newest observation, and in how many a reply spells a special token."""

    num_samples: int = 0
    num_sampled: int = 0
    num_unlike: int = 0
    num_shortened: int = 0
    num_broken_up: int = 0
    bad: list[BadSample] = dataclasses.field(default_factory=list)

    def add(self, other: "Found") -> None:
        for field in dataclasses.fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


def check_samples(folder: Path, reading: Reading, skip: int = 0) -> LeftOut:
    """What a run goes on without: `skip` samples at most.

    One line each says how many samples hold the tokens that were sampled, and how many of those the tokenizer reads as
    something else (these are tokenized from their text); how many are shortened; and how many replies are not learned
    as they are.

    Raises:
        UserError: more than `skip` samples cannot be trained on: `<image>` marks and images differ in number, or are
            more than `image_num`, or any where the model reads none; whatever `tokenize_sample` refuses; a column is
            missing, or was made for another sample; log-probabilities are wanted, but the sample's are of other tokens,
            or of a prompt that does not hold in `seq_len` as the policy read it.
    """
    path = folder / ".survey" / f"{reading.key(folder)}.json"
    found = _noted(path) or _look(folder, reading, path)
    if found.num_sampled:
        unlike = f"; {found.num_unlike} of them say another reply under this tokenizer and are tokenized anew"
        said = unlike if found.num_unlike else ""
        to_stderr(f"{folder}: {found.num_sampled} samples hold the tokens that were sampled{said}")
    if found.num_shortened:
        said = f"{found.num_shortened} samples are longer than SEQ_LEN={reading.seq_len} tokens"
        to_stderr(f"{folder}: {said} and lose the end of their newest observation, with whatever is asked there")
    if found.num_broken_up:
        said = f"{found.num_broken_up} samples have replies that spell special tokens"
        to_stderr(f"{folder}: {said}, which are broken up by a space and so learned")
    if len(found.bad) > skip:
        raise UserError(_refusal(found, path))
    return LeftOut(found.bad)


def _refusal(found: Found, path: Path) -> str:
    named, num = "; ".join(bad.reason for bad in found.bad[:_NAMED]), len(found.bad)
    if num == 1:
        return f"{named} (one of {found.num_samples} samples; SKIP_BAD_SAMPLES=1 goes on without it)"
    listed = f"all are in {path}; " if path.exists() else ""
    more = ", and others" if num > _NAMED else ""
    return (
        f"{num} of {found.num_samples} samples cannot be read: {named}{more} ({listed}SKIP_BAD_SAMPLES={num} goes on "
        "without them)"
    )


def _noted(path: Path) -> Found | None:
    """What an earlier run found; None where it noted nothing, or not all."""
    try:
        fields = json.loads(path.read_text())
        told: dict[str, Any] = {**fields, "bad": [BadSample(**bad) for bad in fields["bad"]]}
        return Found(**told)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _look(folder: Path, reading: Reading, path: Path) -> Found:
    look, found = _Look(reading), Found()
    for part in run_parallel(look, list(_chunks(folder)), 0, "looking at samples"):
        found.add(part)
    with contextlib.suppress(OSError):  # a data set may be read-only
        path.parent.mkdir(exist_ok=True)
        write_json(path, dataclasses.asdict(found))
    return found


@dataclasses.dataclass(frozen=True)
class _Chunk:
    """Samples from `first` up to `last` of a tar."""

    path: Path
    split: str
    first: int
    last: int


def _chunks(folder: Path) -> Iterator[_Chunk]:
    for entry in read_manifest(folder)["shards"]:
        for first in range(0, entry["nsamples"], _CHUNK):
            last = min(first + _CHUNK, entry["nsamples"])
            yield _Chunk(folder / entry["url"], entry.get("split", "train"), first, last)


def _fault(image: FilePart) -> str:
    """What is wrong with it, if anything."""
    try:
        check_encoded(image.read())
    except UserError as error:
        return str(error)
    return ""


class _Look:
    """At the samples of a chunk."""

    def __init__(self, reading: Reading) -> None:
        processor, kind = load_processor(reading.hf_files), family(reading.hf_files)
        images = kind.image_encoder(processor, kind.read_config(reading.hf_files))
        self.reading, self.reads_images = reading, kind.reads_images
        self.encoder = ConversationEncoder(processor, images, reading.seq_len, reading.image_num, reading.reads)

    def __call__(self, chunk: _Chunk) -> Found:
        found = Found(num_samples=chunk.last - chunk.first)
        join = self.reading.join if chunk.split == "train" else None
        pictures: dict[FilePart, str] = {}
        for key, read in itertools.islice(samples_of(chunk.path), chunk.first, chunk.last):
            try:
                sample = read()
                self._check_images(sample, pictures)
                for step in sample.steps():
                    self._check(step, join, found)
            except UserError as error:
                found.bad.append(BadSample(key, chunk.split, str(error)))
        return found

    def _check_images(self, sample: StoredSample, known: dict[FilePart, str]) -> None:
        """`known`: those that were looked at, and what is wrong with them."""
        images = sample.find_images()
        num_images = len(images)
        marks = sum(turn["value"].count(IMAGE) for turn in sample.fields["conversations"] if turn["from"] == "human")
        if marks != num_images:
            raise UserError(f"sample {sample.id}: {marks} {IMAGE} marks but {num_images} images")
        if num_images and not self.reads_images:
            raise UserError(f"sample {sample.id}: {num_images} images, but {NO_IMAGES}")
        if num_images > self.reading.image_num:
            raise UserError(f"sample {sample.id}: {num_images} images, more than IMAGE_NUM={self.reading.image_num}")
        for image in images:
            if image not in known:
                known[image] = _fault(image)
            if known[image]:
                raise broken(sample.id, known[image])

    def _check(self, step: StoredSample, join: ColumnJoin | None, found: Found) -> None:
        sampled, num_shortened = self._sampled(step), self.encoder.num_shortened
        is_unlike = sampled is not None and self._is_unlike(step, sampled, found)
        if join:
            join.check(step.id, step.fields)
            if join.reads_behavior:
                self._check_drawn(step, sampled, is_unlike)
        tokenize(self.encoder, step.id, step.fields, step.find_images(), join)
        replies = [turn["value"] for turn in step.fields["conversations"] if turn["from"] == "gpt"]
        found.num_shortened += self.encoder.num_shortened - num_shortened
        found.num_broken_up += any(escape(self.encoder.tokenizer, reply) != reply for reply in replies)

    def _sampled(self, step: StoredSample) -> SampledReply | None:
        try:
            return SampledReply.of(step.fields)
        except UserError as error:
            raise UserError(f"sample {step.id}: {error}") from None

    def _is_unlike(self, step: StoredSample, sampled: SampledReply, found: Found) -> bool:
        """Whether the sampled tokens say another reply; counts both."""
        reply = step.fields["conversations"][-1]["value"]
        is_unlike = not sampled.says(self.encoder.tokenizer, reply, self.encoder.image_encoder)
        found.num_sampled += 1
        found.num_unlike += is_unlike
        return is_unlike

    def _check_drawn(self, step: StoredSample, sampled: SampledReply | None, is_unlike: bool) -> None:
        """Log-probabilities are of the whole prompt, as the policy read it."""
        if is_unlike:
            raise UserError(
                f"sample {step.id}: its tokens say another reply under this tokenizer, so the log-probabilities that "
                "the algorithm needs are not of it; leave it out"
            )
        if sampled and sampled.cut_off:
            raise UserError(
                f"sample {step.id}: was drawn among the likeliest tokens only, so its log-probabilities are of another "
                "distribution than training computes; explore with top_k=0 and top_p=1"
            )
        num_prompt = step.fields.get("prompt_tokens", 0)  # nobody counted older ones'
        if type(num_prompt) is not int:
            raise UserError(f"sample {step.id}: prompt_tokens is {num_prompt!r}, not a whole number")
        length = num_prompt + len(step.fields.get("token_ids") or ())
        if length > self.reading.seq_len:
            raise UserError(
                f"sample {step.id}: prompt and reply have {length} tokens, more than SEQ_LEN={self.reading.seq_len}; "
                "the algorithm needs the log-probabilities that they were drawn with, which are of the whole prompt. "
                "Give a larger SEQ_LEN, or leave it out"
            )

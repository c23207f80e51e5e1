"""Optimizer steps for one rank, read by megatron-energon from a folder of webdataset shards.

Every rank reads the same samples in the same order, so nothing is sent between them, and takes its part of each global
batch. So the order depends on no parallel layout: a run can continue in another one, and each replica gets as much to
compute as the others. What is costly, decoding images, a rank does for its share only. The loader's state can be saved
and restored exactly.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from megatron.energon import (
    Cooker,
    DefaultTaskEncoder,
    Sample,
    SavableDataLoader,
    WorkerConfig,
    basic_sample_keys,
    cooker,
    edataclass,
    get_savable_loader,
    get_train_dataset,
    stateless,
)
from megatron.energon.cache import FileStore
from megatron.energon.errors import reraise_exception

from data import shard
from data.errors import UserError
from data.shard import parse_fields, sample_images
from training.collate import Collator, MicroBatch, TokenizedSample, open_image
from training.encoding import ConversationEncoder
from training.sampled import SampledReply


@edataclass
class RawSample(Sample):
    """A sample as it lies in its shard; `fields` is its json member."""

    fields: dict[str, Any]
    images: list[bytes]


@edataclass
class EncodedSample(Sample):
    """A sample on its way through energon."""

    tokenized: TokenizedSample


@edataclass
class Step(Sample):
    """`micro_batches`: this replica's of one optimizer step; `keys`: of all samples of the step, on all replicas."""

    micro_batches: list[MicroBatch]
    keys: list[str]


@stateless
@cooker(need_primary=True)
def _read_sample(crude: dict[str, Any], primary: FileStore) -> RawSample:
    """A sample of `data.shard`; `primary` reads the images it shares with another sample."""
    key = crude["__key__"]
    fields = parse_fields(key, crude.get("json", b""))
    own = {part: content for part, content in crude.items() if part.split(".")[0].isdecimal()}
    images = sample_images(key, fields, own, primary.get)
    return RawSample(**basic_sample_keys(crude), fields=fields, images=images)


def tokenize(
    encoder: ConversationEncoder, sample_id: str, fields: dict[str, Any], images: list[bytes]
) -> TokenizedSample:
    """A `TokenizedSample` of a shard's json member and image members.

    Raises:
        UserError: as `ConversationEncoder.encode`, `weight` or `advantage` is not a number, or the sampled tokens are
            none.
    """
    try:
        weight, advantage = float(fields.get("weight", 1.0)), float(fields.get("advantage", 0.0))
        conversations = fields["conversations"]
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"sample {sample_id}: needs conversations, and numbers as its columns ({error!r})") from None
    try:
        sampled = SampledReply.of(fields)
    except UserError as error:
        raise UserError(f"sample {sample_id}: {error}") from None
    opened = [open_image(sample_id, image) for image in images]
    sizes = [(image.height, image.width) for image in opened]
    tokens = encoder.encode(sample_id, conversations, sizes, sampled)
    version = sampled.weights_version if sampled else ""
    return TokenizedSample(
        sample_id, tokens.ids, tokens.learn, images, weight, advantage, tokens.behavior_logprobs, version
    )


class StepEncoder(DefaultTaskEncoder):
    """What energon does to samples: read, tokenize, gather a global batch, cut it into micro-batches."""

    cookers = (Cooker(_read_sample),)
    decoder = None  # members stay bytes until a rank needs them

    def __init__(self, encoder: ConversationEncoder, collator: Collator) -> None:
        super().__init__()
        self.encoder, self.collator = encoder, collator

    @stateless
    def encode_sample(self, sample: RawSample) -> EncodedSample:
        tokenized = tokenize(self.encoder, sample.fields["id"], sample.fields, sample.images)
        return EncodedSample.derive_from(sample, tokenized=tokenized)

    def select_samples_to_pack(self, samples: list[EncodedSample]) -> list[list[EncodedSample]]:
        """A full buffer is a global batch; it stays together."""
        return [samples]

    @stateless
    def pack_selected_samples(self, samples: list[EncodedSample]) -> Step:
        tokenized = [sample.tokenized for sample in samples]
        keys = [sample.key for sample in tokenized]
        return Step.derive_from(samples[0], micro_batches=self.collator.collate(tokenized), keys=keys)


def build_loader(
    folder: Path, step_encoder: StepEncoder, global_batch_size: int, num_workers: int, seed: int
) -> SavableDataLoader[Step]:
    """An endless loader of this replica's optimizer steps."""
    worker_config = WorkerConfig(
        rank=0,
        world_size=1,
        num_workers=num_workers,
        seed_offset=seed,
        global_error_handler=reraise_exception,
    )
    dataset = get_train_dataset(
        folder,
        worker_config=worker_config,
        batch_size=None,
        packing_buffer_size=global_batch_size,
        shuffle_buffer_size=None,
        max_samples_per_sequence=1,  # shards are indexed: every sample is drawn on its own, a full shuffle
        task_encoder=step_encoder,
    )
    return get_savable_loader(dataset, checkpoint_every_sec=0, watchdog_timeout_seconds=None)


def read_in_order(
    folder: Path, encoder: ConversationEncoder, splits: Collection[str] = ("train", "val")
) -> Iterator[TokenizedSample]:
    """Every sample of a shard folder's `splits` once, as it lies there."""
    for entry in shard.read_manifest(folder)["shards"]:
        if entry.get("split", "train") in splits:
            for sample in shard.read_shard(folder / entry["url"]):
                fields = {"conversations": sample.conversations, **sample.extra}
                yield tokenize(encoder, sample.id, fields, sample.images)


def in_batches(samples: Iterable[TokenizedSample], size: int) -> Iterator[list[TokenizedSample]]:
    """Lists of `size` samples, the last one shorter."""
    iterator = iter(samples)
    while batch := list(islice(iterator, size)):
        yield batch

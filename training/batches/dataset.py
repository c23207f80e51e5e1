"""Optimizer steps as a replica reads them: megatron-energon draws global batches from a folder of webdataset shards.

One rank of each replica reads (see `training.batches.feed`). All of them draw the same samples in the same order, so
nothing is sent between replicas and the order depends on no parallel layout: a run can continue in another one. Of a
global batch a replica reads the json members and the images' headers, from which it estimates costs, deals the samples
out by them, and tokenizes its own. The loader's state can be saved and restored exactly.
"""

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from megatron.energon import (
    Cooker,
    DefaultTaskEncoder,
    Sample,
    SavableDataLoader,
    SavableDataset,
    SkipSample,
    WorkerConfig,
    basic_sample_keys,
    cooker,
    edataclass,
    get_savable_loader,
    get_train_dataset,
    stateless,
)
from megatron.energon.errors import reraise_exception

from data.shards.shard import parse_fields
from training.batches.chain import chain
from training.batches.collate import Share
from training.batches.columns import ColumnJoin
from training.batches.cost import CostModel
from training.batches.packing import like_with_like
from training.batches.share_bytes import to_bytes
from training.batches.tokenize_sample import tokenize
from training.samples.stored_sample import ShardIndex, StoredSample

Item = TypeVar("Item")


@edataclass
class RawSample(Sample):
    """A sample as it lies in its tar `shard`; `fields` is its json member."""

    fields: dict[str, Any]
    shard: str


@edataclass
class EncodedShare(Sample):
    """A `Share` as bytes: so it goes through the worker's pipe; its tensors would go through shared memory."""

    content: bytes


@stateless
@cooker
def _read_sample(crude: dict[str, Any]) -> RawSample:
    fields = parse_fields(crude["__key__"], crude.get("json", b""))
    return RawSample(**basic_sample_keys(crude), fields=fields, shard=crude["__shard__"])


def tokenize_share(
    cost_model: CostModel,
    batch: Sequence[StoredSample],
    replica: int,
    num_replicas: int,
    join: ColumnJoin | None = None,
    at_drawn: bool = False,
) -> Share:
    """What number `replica` of `num_replicas` has of a global batch: as much work as the others; `join` and `at_drawn`
    as `tokenize` takes them."""
    own, encoder = cost_model.share(batch, replica, num_replicas), cost_model.encoder
    samples = [
        chained
        for sample in own
        for chained in chain(
            [tokenize(encoder, step.id, step.fields, step.find_images(), join, at_drawn) for step in sample.steps()]
        )
    ]
    return Share([sample.id for sample in batch], samples)


class ShareEncoder(DefaultTaskEncoder):
    """What energon does to samples: read, gather a global batch, tokenize this replica's share of it."""

    cookers = (Cooker(_read_sample),)
    decoder = None

    def __init__(
        self,
        cost_model: CostModel,
        join: ColumnJoin,
        folder: Path,
        global_batch_size: int,
        replica: int,
        num_replicas: int,
        left_out: Collection[str] = (),
    ) -> None:
        """`left_out`: keys of the samples that the run goes on without."""
        super().__init__()
        self.left_out = frozenset(left_out)
        self.cost_model, self.join, self.index = cost_model, join, ShardIndex(folder)
        self.global_batch_size = global_batch_size
        self.replica, self.num_replicas = replica, num_replicas

    @stateless
    def cook_crude_sample(self, sample: dict[str, Any], **told: Any) -> RawSample:
        """All replicas leave out the same, so they go on drawing the same."""
        if sample["__key__"] in self.left_out:
            raise SkipSample
        return super().cook_crude_sample(sample, **told)

    def build_train_datasets(self, *, datasets: list[Any], **options: Any) -> SavableDataset[Any]:
        """Of a sample's members energon reads the json only."""
        for loaded in datasets:
            loaded.dataset.part_filter = _is_json
        return super().build_train_datasets(datasets=datasets, **options)

    def select_samples_to_pack(self, samples: list[RawSample]) -> list[list[RawSample]]:
        """A full buffer is a global batch, or several by length, whose order its samples' keys draw."""
        if len(samples) <= self.global_batch_size:
            return [samples]
        batches = like_with_like(self.cost_model.costs(self._stored(samples)), self.global_batch_size)
        random.Random(" ".join(raw.__key__ for raw in samples)).shuffle(batches)
        return [[samples[index] for index in batch] for batch in batches]

    @stateless
    def pack_selected_samples(self, samples: list[RawSample]) -> EncodedShare:
        share = tokenize_share(self.cost_model, self._stored(samples), self.replica, self.num_replicas, self.join)
        return EncodedShare.derive_from(samples[0], content=to_bytes(share))

    def _stored(self, samples: list[RawSample]) -> list[StoredSample]:
        return [
            StoredSample(raw.fields, partial(self.index.find_images, raw.shard, raw.__key__, raw.fields))
            for raw in samples
        ]


def _is_json(part: str) -> bool:
    return part == "json"


def build_loader(
    folder: Path,
    share_encoder: ShareEncoder,
    group_by_length: int,
    num_workers: int,
    seed: int,
) -> SavableDataLoader[EncodedShare]:
    """An endless loader of this replica's shares of global batches, of which `group_by_length` are made together."""
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
        packing_buffer_size=share_encoder.global_batch_size * group_by_length,
        shuffle_buffer_size=None,
        max_samples_per_sequence=1,  # shards are indexed: every sample is drawn on its own, a full shuffle
        task_encoder=share_encoder,
    )
    return get_savable_loader(dataset, checkpoint_every_sec=0, watchdog_timeout_seconds=None)


def in_batches(samples: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Lists of `size` samples, the last one shorter."""
    iterator = iter(samples)
    while batch := list(islice(iterator, size)):
        yield batch

"""What a rank reads: its own samples, once per pass, in an order that survives a restart."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from transformers import AutoProcessor

from common.errors import UserError
from data.shards.shard import Sample
from models.idefics2.images import ImageEncoder
from models.registry import family
from models.tokens.encoding import ConversationEncoder
from tests import tiny
from training.algorithms.sft import Sft
from training.batches.collate import Collator, MicroBatch, OptimizerStep, Place
from training.batches.columns import ColumnJoin
from training.batches.cost import CostModel
from training.batches.dataset import ShareEncoder, build_loader
from training.batches.feed import Feed, Replica
from training.batches.pixel_queue import PixelQueue
from training.checkpoints.loader_state import from_plain, to_plain
from training.modules.batching import IGNORE

GLOBAL_BATCH = 6


class Reader:
    """Makes what any rank of one policy's data takes, if it read for itself."""

    def __init__(self, policy: Path) -> None:
        processor, kind = AutoProcessor.from_pretrained(policy), family(policy)
        self.hf = kind.read_config(policy)
        self.images, self.vision = ImageEncoder(processor, self.hf), kind.vision_side(self.hf)
        self.encoder = ConversationEncoder(processor, self.images, 4096, 3, "answer")

    def feed(
        self,
        folder: Path,
        place: Place,
        num_workers: int = 0,
        group_by_length: int = 1,
        left_out: Sequence[str] = (),
        **options: object,
    ) -> Feed:
        options = {"batch_size": 2, "seq_len": 1024, "pad_multiple": 8, **options}
        costs = CostModel(self.encoder, self.hf.text_config, self.vision, True, bool(options.get("packing")))
        shares = ShareEncoder(
            costs, ColumnJoin(Sft()), folder, GLOBAL_BATCH, place.data_rank, place.data_size, left_out
        )
        loader = build_loader(folder, shares, group_by_length, num_workers, seed=1)
        collator = Collator(place, self.images, pixel_queue=PixelQueue(num_workers), **options)
        return Feed(loader, Replica([0]), collator, num_workers)

    def steps(self, folder: Path, count: int, place: Place, **options: object) -> list[OptimizerStep]:
        feed = self.feed(folder, place, **options)
        return [feed.take() for _ in range(count)]

    def batches(self, folder: Path, count: int, place: Place, **options: object) -> list[MicroBatch]:
        return [batch for step in self.steps(folder, count, place, **options) for batch in step.micro_batches]


@pytest.fixture(scope="module")
def reader(policy: Path) -> Reader:
    return Reader(policy)


def place(
    data_rank: int = 0, data_size: int = 1, image_rank: int = 0, image_size: int = 1, first: bool = True
) -> Place:
    return Place(data_rank, data_size, image_rank, image_size, first)


def keys(batches: list[MicroBatch]) -> list[str]:
    return [key for batch in batches for key in batch.keys]


def spread(step: OptimizerStep) -> int:
    """How much longer a step's longest sample is than its shortest."""
    lengths = [length for batch in step.micro_batches for length in batch.lengths]
    return max(lengths) - min(lengths)


@pytest.mark.parametrize("packing", [False, True])
def test_one_pass_reads_every_sample_once(reader: Reader, shards: Path, packing: bool) -> None:
    seen = keys(reader.batches(shards, 4, place(), packing=packing))
    assert len(set(seen)) == len(seen) == 24


@pytest.mark.parametrize("packing", [False, True])
def test_each_step_is_the_same_samples_however_many_replicas(reader: Reader, shards: Path, packing: bool) -> None:
    alone = reader.steps(shards, 4, place(), packing=packing)
    replicas = [reader.steps(shards, 4, place(rank, 3), packing=packing) for rank in range(3)]
    for whole, *parts in zip(alone, *replicas, strict=True):
        assert sorted(whole.keys) == sorted(key for part in parts for key in keys(part.micro_batches))
        assert packing or len({sum(len(batch.keys) for batch in part.micro_batches) for part in parts}) == 1
        assert all(part.keys == whole.keys for part in parts)


@pytest.mark.parametrize("packing", [False, True])
def test_steps_by_length_are_the_same_samples_like_with_like(reader: Reader, shards: Path, packing: bool) -> None:
    """Four steps of six are drawn together; each of them then holds neighbors in length, and no order of lengths."""
    drawn = reader.steps(shards, 4, place(), packing=packing, batch_size=1)
    grouped = reader.steps(shards, 4, place(), packing=packing, batch_size=1, group_by_length=4)
    replicas = [reader.steps(shards, 4, place(rank, 2), packing=packing, group_by_length=4) for rank in range(2)]
    assert sorted(key for step in drawn for key in step.keys) == sorted(key for step in grouped for key in step.keys)
    for step, *parts in zip(grouped, *replicas, strict=True):
        assert sorted(step.keys) == sorted(key for part in parts for key in keys(part.micro_batches))
    if not packing:
        spreads = [sum(map(spread, steps)) for steps in (drawn, grouped)]
        assert spreads[1] < spreads[0] / 2
        means = [sum(batch.lengths[0] for batch in step.micro_batches) for step in grouped]
        assert means not in (sorted(means), sorted(means, reverse=True))


def test_a_step_is_cut_into_micro_batches_of_similar_length(reader: Reader, shards: Path) -> None:
    for step in reader.steps(shards, 4, place()):
        lengths = [batch.tokens.size(1) for batch in step.micro_batches]
        assert len(lengths) == 3 and lengths == sorted(lengths)


def test_ranks_share_the_images_of_the_same_samples(reader: Reader, shards: Path) -> None:
    whole = reader.batches(shards, 4, place())
    parts = [reader.batches(shards, 4, place(image_rank=rank, image_size=2)) for rank in range(2)]
    later_stage = reader.batches(shards, 4, place(first=False))
    for expected, left, right, later in zip(whole, *parts, later_stage, strict=True):
        assert expected.tokens.equal(left.tokens) and expected.tokens.equal(right.tokens)
        assert expected.tokens.equal(later.tokens) and later.images.load().pixels is None
        images = [part.images.load() for part in (expected, left, right)]
        assert images[1].num_units == images[2].num_units == images[0].num_units
        owned = [len(part.pixels["pixel_values"]) if part.pixels else 0 for part in images[1:]]
        assert sum(owned) == images[0].num_units and owned[0] - owned[1] in (0, 1)


def test_a_packed_row_is_its_samples_one_after_the_other(reader: Reader, shards: Path) -> None:
    """Tokens and labels of each segment are those of the sample alone; nothing is predicted across."""
    alone = {batch.keys[0]: batch for batch in reader.batches(shards, 4, place(), batch_size=1, pad_multiple=1)}
    options = {"packing": True, "segment_multiple": 4, "pad_multiple": 16}
    for batch in reader.batches(shards, 4, place(), **options):
        assert batch.tokens.shape == batch.labels.shape == (1, sum(batch.segment_lengths))
        assert batch.tokens.size(1) <= 1024 and batch.tokens.size(1) % 16 == 0
        assert all(length % 4 == 0 for length in batch.segment_lengths)
        assert len(batch.segment_lengths) - len(batch.keys) in (0, 1)
        start = 0
        for number, (key, length) in enumerate(zip(batch.keys, batch.lengths, strict=True)):
            part = slice(start, start + length)
            for name in ("tokens", "labels"):
                assert getattr(batch, name)[0, part].equal(getattr(alone[key], name)[0])
            assert batch.labels[0, start + length - 1] == IGNORE
            assert batch.columns.num_tokens[number] == (batch.labels[0, part] != IGNORE).sum()
            start += batch.segment_lengths[number]
        assert len(batch.keys) > 1


def test_a_step_has_the_asked_multiple_of_micro_batches(reader: Reader, shards: Path) -> None:
    for step in reader.steps(shards, 2, place(0, 2), packing=True, micro_batch_multiple=4):
        assert len(step.micro_batches) == 4
        assert all(len(batch.tokens[0]) == sum(batch.segment_lengths) for batch in step.micro_batches)


def test_images_that_samples_share_are_read_as_their_own(reader: Reader, tmp_path: Path) -> None:
    """Every sample shows the last screenshot of the one before it, as the steps of a trajectory do."""
    plain = [tiny.sample(index, num_steps=2) for index in range(7)]
    samples = [Sample(new.id, new.conversations, [old.images[-1], new.images[-1]]) for old, new in pairwise(plain)]
    folders = [tiny.build_dataset(tmp_path / str(share), samples, share_images=share) for share in (False, True)]
    num_bytes = [sum(tar.stat().st_size for tar in folder.glob("*.tar")) for folder in folders]
    assert num_bytes[1] < num_bytes[0]
    steps = [reader.steps(folder, 2, place(), packing=True, seq_len=4096) for folder in folders]
    assert [step.keys for step in steps[0]] == [step.keys for step in steps[1]]
    for step, shared in zip(*steps, strict=True):
        for batch, same in zip(step.micro_batches, shared.micro_batches, strict=True):
            assert batch.tokens.equal(same.tokens)
            own, other = batch.images.load(), same.images.load()
            assert own.num_units == other.num_units and own.pixels["pixel_values"].equal(other.pixels["pixel_values"])


@pytest.mark.parametrize(("num_workers", "group_by_length"), [(0, 1), (1, 1), (0, 2), (1, 2)])
def test_a_restored_loader_continues_where_it_was(
    reader: Reader, shards: Path, num_workers: int, group_by_length: int, tmp_path: Path
) -> None:
    """Also on another number of replicas: the state is the same for all."""
    feed = reader.feed(shards, place(), num_workers, group_by_length)
    for _ in range(3):
        feed.take()
    torch.save(to_plain(feed.save_state_rank()), tmp_path / "state.pt")
    expected = [feed.take().keys for _ in range(4)]
    restarted = reader.feed(shards, place(1, 2), num_workers, group_by_length)
    restarted.restore_state_rank(from_plain(torch.load(tmp_path / "state.pt", weights_only=True)))
    assert [restarted.take().keys for _ in range(4)] == expected


@pytest.mark.parametrize(("cut", "num_workers"), [(60, 0), (60, 1), (10, 0)])
def test_a_broken_image_is_named(reader: Reader, cut: int, num_workers: int, tmp_path: Path) -> None:
    """Whether it has a header, and whoever decodes it."""
    good = tiny.sample(1)
    broken = Sample("broken", good.conversations, [good.images[0][:cut]])
    folder = tiny.build_dataset(tmp_path / "shards", [broken, *(tiny.sample(i) for i in range(5))], of_others=True)
    with pytest.raises(UserError, match="sample broken: broken image"):
        for batch in reader.batches(folder, 1, place(), num_workers=num_workers):
            batch.images.load()


def test_pixels_made_ahead_are_those_made_when_needed(reader: Reader, shards: Path) -> None:
    ahead = reader.batches(shards, 4, place(image_size=2), num_workers=2)
    for batch, expected in zip(ahead, reader.batches(shards, 4, place(image_size=2), num_workers=0), strict=False):
        if batch.keys == expected.keys:
            same = [batch.images.load(), expected.images.load()]
            assert all(same[0].pixels[name].equal(same[1].pixels[name]) for name in same[1].pixels)


def test_replicas_have_as_much_to_compute(reader: Reader, tmp_path: Path) -> None:
    """Long and short samples are dealt out evenly, by an estimate from their texts."""
    samples = [tiny.sample(index, num_words=20 if index % 2 else 220) for index in range(24)]
    folder = tiny.build_dataset(tmp_path / "shards", samples)
    parts = [reader.steps(folder, 4, place(rank, 3)) for rank in range(3)]
    for step in zip(*parts, strict=True):
        long = [sum(length > 300 for batch in part.micro_batches for length in batch.lengths) for part in step]
        assert max(long) - min(long) <= 1

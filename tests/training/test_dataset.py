"""What a rank reads: its own samples, once per pass, in an order that survives a restart."""

from itertools import islice
from pathlib import Path

import pytest
import torch
from transformers import AutoProcessor

from data.errors import UserError
from data.shard import Sample
from tests.training import tiny
from training.dataset import MicroBatch, MicroBatchEncoder, Place, build_loader
from training.encoding import ConversationEncoder
from training.loader_state import from_plain, to_plain
from training.models.idefics2.config import read_config
from training.models.idefics2.images import ImageEncoder

SAMPLES_PER_STEP = 6


class Reader:
    """Makes loaders for any rank of one policy's data."""

    def __init__(self, policy: Path) -> None:
        processor = AutoProcessor.from_pretrained(policy)
        self.encoder = ConversationEncoder(processor, 4096, 3, "answer")
        self.images = ImageEncoder(processor, read_config(policy))

    def loader(self, folder: Path, place: Place, num_workers: int = 0, batch_size: int = 2):
        encoder = MicroBatchEncoder(self.encoder, place, self.images, batch_size, pad_multiple=8, pad_length=None)
        return build_loader(folder, encoder, SAMPLES_PER_STEP, num_workers, seed=1)

    def batches(self, folder: Path, count: int, place: Place, batch_size: int = 2) -> list[MicroBatch]:
        return list(islice(self.loader(folder, place, batch_size=batch_size), count))


@pytest.fixture(scope="module")
def reader(policy: Path) -> Reader:
    return Reader(policy)


def place(
    data_rank: int = 0, data_size: int = 1, tensor_rank: int = 0, tensor_size: int = 1, first: bool = True
) -> Place:
    return Place(data_rank, data_size, tensor_rank, tensor_size, first)


def fingerprints(batches: list[MicroBatch]) -> list[tuple[int, ...]]:
    """One per sample."""
    return [
        tuple(row.tolist()) for batch in batches for row in torch.nn.functional.pad(batch.tokens, (0, 999))[:, :999]
    ]


def test_one_pass_reads_every_sample_once(reader: Reader, shards: Path) -> None:
    seen = fingerprints(reader.batches(shards, 12, place()))
    assert len(set(seen)) == len(seen) == 24


def test_data_parallel_ranks_read_disjoint_samples(reader: Reader, shards: Path) -> None:
    seen = [fingerprints(reader.batches(shards, 6, place(rank, 2))) for rank in range(2)]
    assert len(set(seen[0]) | set(seen[1])) == 24


def test_a_step_is_cut_into_micro_batches_of_similar_length(reader: Reader, shards: Path) -> None:
    for step in range(4):
        batches = reader.batches(shards, 12, place())[3 * step : 3 * step + 3]
        lengths = [batch.tokens.size(1) for batch in batches]
        assert lengths == sorted(lengths)


def test_tensor_parallel_ranks_share_the_images_of_the_same_samples(reader: Reader, shards: Path) -> None:
    whole = reader.batches(shards, 12, place())
    parts = [reader.batches(shards, 12, place(tensor_rank=rank, tensor_size=2)) for rank in range(2)]
    later_stage = reader.batches(shards, 12, place(first=False))
    for expected, left, right, later in zip(whole, *parts, later_stage, strict=True):
        assert expected.tokens.equal(left.tokens) and expected.tokens.equal(right.tokens)
        assert expected.tokens.equal(later.tokens) and later.images.pixels is None
        assert left.images.num_units == right.images.num_units == later.images.num_units == expected.images.num_units
        owned = [len((part.images.pixels or {"pixel_values": ""})["pixel_values"]) for part in (left, right)]
        assert sum(owned) == expected.images.num_units and owned[0] - owned[1] in (0, 1)


def test_every_sample_weighs_the_same(reader: Reader, shards: Path) -> None:
    for batch in reader.batches(shards, 12, place()):
        assert batch.loss_weights.sum(dim=1).allclose(torch.ones(2))
        assert ((batch.loss_weights > 0) == (batch.labels >= 0)).all()


@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_restored_loader_continues_where_it_was(
    reader: Reader, shards: Path, num_workers: int, tmp_path: Path
) -> None:
    loader = reader.loader(shards, place(), num_workers)
    batches = iter(loader)
    list(islice(batches, 4))  # in the middle of a step
    state = loader.save_state_rank()
    expected = fingerprints(list(islice(batches, 12)))
    restarted = reader.loader(shards, place(), num_workers)
    torch.save(to_plain(state), tmp_path / "state.pt")
    restarted.restore_state_rank(from_plain(torch.load(tmp_path / "state.pt", weights_only=True)))
    assert fingerprints(list(islice(iter(restarted), 12))) == expected


def test_a_broken_image_is_named(reader: Reader, tmp_path: Path) -> None:
    good = tiny.sample(1)
    broken = Sample("broken", good.conversations, [good.images[0][:60]])
    folder = tiny.build_dataset(tmp_path / "shards", [broken] * 1 + [tiny.sample(i) for i in range(5)])
    with pytest.raises(UserError, match="sample broken: broken image"):
        reader.batches(folder, 3, place())

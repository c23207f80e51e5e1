"""From encoded samples to the micro-batches that a rank computes, padded or packed."""

import dataclasses
from collections.abc import Sequence

import torch
from PIL import Image

from models.images import ImageEncoder
from training.algorithms.algorithm import BatchColumns
from training.batches.columns import SampleColumns
from training.batches.packing import batch_by_length, pack_rows
from training.batches.pixel_queue import LazyImages, PixelQueue
from training.modules.batching import IGNORE, Images, image_share
from training.modules.images import encode_share, only_counted
from training.samples.pictures import Picture


@dataclasses.dataclass(frozen=True)
class TokenizedSample:
    """ids [s]; loss_mask [s] bool: whether a token is to be predicted.

    `columns` are those that the algorithm reads. `behavior_logprobs` [s]: of the tokens that a policy of
    `weights_version` sampled (NaN elsewhere; None where they are not known). `temperature` divides the logits.
    `earlier`: of steps that are learned in the same sequence (`training.batches.chain`), how many tokens are predicted,
    and their columns.
    """

    key: str
    ids: torch.Tensor
    loss_mask: torch.Tensor
    images: list[Picture]
    columns: SampleColumns = dataclasses.field(default_factory=SampleColumns)
    behavior_logprobs: torch.Tensor | None = None
    weights_version: str = ""
    temperature: float = 1.0
    earlier: tuple[tuple[int, SampleColumns], ...] = ()

    @property
    def steps(self) -> tuple[tuple[int, SampleColumns], ...]:
        """(predicted tokens, columns) of all that count as samples for the algorithm, in the order of their tokens."""
        num_tokens = int(self.loss_mask[1:].sum()) - sum(count for count, _ in self.earlier)
        return (*self.earlier, (num_tokens, self.columns))

    @property
    def num_read(self) -> int:
        """How many positions, counted from the end, hold all labels: nothing reads the last layer before them."""
        labeled = self.loss_mask[1:].nonzero()
        return len(self.ids) - int(labeled[0]) if len(labeled) else 0


@dataclasses.dataclass(frozen=True)
class MicroBatch:
    """
    tokens, labels [b, s]: padded on the right; `labels` are shifted, `IGNORE` where there is no loss.
    keys [n]: of the samples, as they follow each other in the rows.
    columns: those of the samples and of the tokens that have a label, in the order of `labels`, row after row.
    segment_lengths: None, or of a packed row (b = 1) its samples' lengths and that of the padding after them; positions
        restart in each segment and attention stays within it.
    images: all are counted, this rank's share of them is made as the vision tower takes it.
    lengths [n]: of the samples.
    reads [n]: of each, `TokenizedSample.num_read`.
    is_feature [b, s] bool: the tokens that stand for an image's features.
    position_ids [rows, b, s]: of a family whose tokens do not simply count (`ImageEncoder.position_ids`), 0 at padding.
    temperatures [b, s]: what divides the logits; None where it is 1 everywhere.
    """

    tokens: torch.Tensor
    labels: torch.Tensor
    keys: list[str]
    columns: BatchColumns
    segment_lengths: tuple[int, ...] | None
    images: LazyImages
    lengths: tuple[int, ...]
    reads: tuple[int, ...] = ()
    is_feature: torch.Tensor | None = None
    position_ids: torch.Tensor | None = None
    temperatures: torch.Tensor | None = None

    @property
    def num_tokens(self) -> int:
        """Without padding."""
        return sum(self.lengths)

    @property
    def num_read(self) -> int | None:
        """How many positions at the end of the rows hold all labels; None where they are not counted."""
        if not self.reads or self.segment_lengths is not None:
            return None
        ends = zip(self.lengths, self.reads, strict=True)
        return max(1, *(self.tokens.size(1) - length + read for length, read in ends))

    def on(self, device: torch.device) -> "MicroBatch":
        """A copy with its tensors on `device`; images are loaded apart."""
        fields = vars(self).items()
        moved = {name: value.to(device, non_blocking=True) for name, value in fields if torch.is_tensor(value)}
        return dataclasses.replace(self, **moved, columns=self.columns.on(device))

    def with_pixels(self) -> "MicroBatch":
        """A copy that holds its pixels, for a loop that computes it again and again."""
        images = self.images.load()
        return dataclasses.replace(self, images=LazyImages(images, lambda: images))


@dataclasses.dataclass(frozen=True)
class Share:
    """What a replica has of a global batch: the keys of all its samples, in order, and its own samples."""

    keys: list[str]
    samples: list[TokenizedSample]


@dataclasses.dataclass(frozen=True)
class OptimizerStep:
    """`micro_batches`: this replica's of one optimizer step; `keys`: of all samples of the step, on all replicas."""

    micro_batches: list[MicroBatch]
    keys: list[str]

    @property
    def waited_s(self) -> float:
        """Seconds that the model has waited for pixels so far."""
        return sum(batch.images.waited_s for batch in self.micro_batches)


@dataclasses.dataclass(frozen=True)
class Place:
    """Where this rank stands, as far as data is concerned; the ranks `image_rank` of `image_size` share images."""

    data_rank: int
    data_size: int
    image_rank: int
    image_size: int
    encodes_images: bool


@dataclasses.dataclass(frozen=True)
class Collator:
    """Cuts a replica's share of a global batch into micro-batches and makes them."""

    place: Place
    image_encoder: ImageEncoder
    batch_size: int
    seq_len: int
    packing: bool = False
    pad_multiple: int = 1
    """The length of a micro-batch is a multiple of it."""
    pad_to_seq_len: bool = False
    """Every micro-batch is `seq_len` long, rather than as long as its longest sample or its row."""
    segment_multiple: int = 1
    """Packed samples are padded to it, each for itself."""
    micro_batch_multiple: int = 1
    """The number of micro-batches is a multiple of it (interleaved pipelines: PP)."""
    pixel_queue: PixelQueue = dataclasses.field(default_factory=PixelQueue)
    """Makes the pixels."""

    def step(self, share: Share) -> OptimizerStep:
        """An optimizer step as this rank computes it."""
        return OptimizerStep(self.collate(share.samples), share.keys)

    def collate(self, samples: Sequence[TokenizedSample]) -> list[MicroBatch]:
        """At least one micro-batch of `samples`, the replica's own of an optimizer step.

        Replicas need not have as many micro-batches as each other: each one's losses are divided by its own number.
        """
        lengths = [self._segment(len(sample.ids)) for sample in samples]
        if self.packing:
            plan = pack_rows(lengths, self.seq_len, self.micro_batch_multiple)
        else:
            plan = batch_by_length(lengths, self.batch_size, self.micro_batch_multiple)
        plan = plan or [[]] * self.micro_batch_multiple
        make = self._packed if self.packing else self._padded
        return [make([samples[index] for index in group]) for group in plan]

    def _padded(self, samples: list[TokenizedSample]) -> MicroBatch:
        """One sample a row."""
        rows = [[sample] for sample in samples] or [[]]
        rows += [[] for _ in range(self.batch_size - len(rows))]
        return self._micro_batch(rows)

    def _packed(self, samples: list[TokenizedSample]) -> MicroBatch:
        """All samples in one row."""
        batch = self._micro_batch([samples])
        segments = [self._segment(len(sample.ids)) for sample in samples]
        padding = batch.tokens.size(1) - sum(segments)
        return dataclasses.replace(batch, segment_lengths=(*segments, *([padding] if padding else [])))

    def _micro_batch(self, rows: list[list[TokenizedSample]]) -> MicroBatch:
        samples = [sample for row in rows for sample in row]
        longest = max(sum(self._segment(len(sample.ids)) for sample in row) for row in rows)
        length = self.seq_len if self.pad_to_seq_len else max(1, -(-longest // self.pad_multiple)) * self.pad_multiple
        tokens = torch.zeros(len(rows), length, dtype=torch.long)
        labels, is_feature = torch.full_like(tokens, IGNORE), torch.zeros_like(tokens, dtype=torch.bool)
        temperatures = torch.ones(tokens.shape)
        position_ids: torch.Tensor | None = None
        for row, members in enumerate(rows):
            start = 0
            for sample in members:
                end = start + len(sample.ids)
                tokens[row, start:end] = sample.ids
                labels[row, start : end - 1] = torch.where(sample.loss_mask[1:], sample.ids[1:], IGNORE)
                temperatures[row, start:end] = sample.temperature
                sizes = [image.size for image in sample.images]
                is_feature[row, start:end] = self.image_encoder.is_feature(sample.ids, sizes)
                positions = self.image_encoder.position_ids(sample.ids, sizes)
                if positions is not None:
                    position_ids = (
                        tokens.new_zeros(len(positions), *tokens.shape) if position_ids is None else position_ids
                    )
                    position_ids[:, row, start:end] = positions
                start += self._segment(len(sample.ids))
        images = [(sample.key, picture) for sample in samples for picture in sample.images]
        return MicroBatch(
            tokens=tokens,
            labels=labels,
            keys=[sample.key for sample in samples],
            columns=_batch_columns(samples),
            segment_lengths=None,
            images=self._own_images(images),
            lengths=tuple(len(sample.ids) for sample in samples),
            reads=tuple(sample.num_read for sample in samples),
            is_feature=is_feature,
            position_ids=position_ids,
            temperatures=None if all(sample.temperature == 1 for sample in samples) else temperatures,
        )

    def _segment(self, length: int) -> int:
        """The room that a sample takes in a packed row."""
        return -(-length // self.segment_multiple) * self.segment_multiple if self.packing else length

    def _own_images(self, pictures: list[tuple[str, Picture]]) -> LazyImages:
        """Decoded is this rank's share, in time or when it is needed."""
        sizes = [picture.size for _, picture in pictures]
        counted, rank, size = only_counted(self.image_encoder, sizes), self.place.image_rank, self.place.image_size
        if not self.place.encodes_images:
            return LazyImages(counted, lambda: counted)

        def load(index: int) -> Image.Image:
            key, picture = pictures[index]
            return picture.decode(key)

        def make() -> Images:
            return encode_share(self.image_encoder, sizes, load, rank, size)

        num_units = len(image_share(counted.num_units, rank, size))
        return LazyImages(counted, self.pixel_queue.submit(num_units, make))


def _batch_columns(samples: Sequence[TokenizedSample]) -> BatchColumns:
    """Those of the steps of `samples`, which all have the same; none have none."""
    steps = [step for sample in samples for step in sample.steps]
    columns = [columns for _, columns in steps]
    first = columns[0] if columns else SampleColumns()
    return BatchColumns(
        num_tokens=torch.tensor([num_tokens for num_tokens, _ in steps], dtype=torch.long),
        per_sample={name: torch.tensor([one.per_sample[name] for one in columns]) for name in first.per_sample},
        per_token={name: torch.cat([one.per_token[name] for one in columns]) for name in first.per_token},
    )

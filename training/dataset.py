"""Micro-batches for one rank, read by megatron-energon from a folder of webdataset shards.

Every rank of a data-parallel replica reads the same samples in the same order, so nothing is sent between them. The
costly part, decoding images, each tensor-parallel rank of the first pipeline stage does for its share only. Replicas
read disjoint samples. The loader's state can be saved and restored exactly.
"""

import dataclasses
import io
from pathlib import Path
from typing import Any

import torch
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
from PIL import Image, UnidentifiedImageError

from data.errors import UserError
from data.shard import parse_fields, sample_images
from training.encoding import ConversationEncoder
from training.models.batching import IGNORE, Images
from training.models.images import ImageEncoder, encode_share, only_counted


@edataclass
class RawSample(Sample):
    """A sample as it lies in its shard."""

    conversations: list[dict[str, str]]
    images: list[bytes]


@edataclass
class EncodedSample(Sample):
    """ids [s]; learn [s] bool: whether a token is to be predicted."""

    ids: torch.Tensor
    learn: torch.Tensor
    images: list[bytes]


@edataclass
class MicroBatch(Sample):
    """
    tokens, labels [b, s]: padded on the right; `labels` are shifted, `IGNORE` where nothing is to be learnt.
    loss_weights [b, s]: 1 / (learnt tokens of the sample), so that samples count alike however long their replies.
    images: this rank's share of them. num_tokens: without padding.
    """

    tokens: torch.Tensor
    labels: torch.Tensor
    loss_weights: torch.Tensor
    images: Images
    num_tokens: int

    def on(self, device: torch.device) -> "MicroBatch":
        """A copy with its tensors on `device`."""
        fields = vars(self).items()
        moved = {name: value.to(device, non_blocking=True) for name, value in fields if torch.is_tensor(value)}
        return dataclasses.replace(self, **moved, images=self.images.to(device))


@dataclasses.dataclass(frozen=True)
class Place:
    """Where this rank stands, as far as data is concerned; rank `image_rank` of `image_size` encodes its share."""

    data_rank: int
    data_size: int
    image_rank: int
    image_size: int
    encodes_images: bool


@stateless
@cooker(need_primary=True)
def _read_sample(crude: dict[str, Any], primary: FileStore) -> RawSample:
    """A sample of `data.shard`; `primary` reads the images it shares with another sample."""
    key = crude["__key__"]
    fields = parse_fields(key, crude.get("json", b""))
    own = {part: content for part, content in crude.items() if part.split(".")[0].isdecimal()}
    images = sample_images(key, fields, own, primary.get)
    return RawSample(**basic_sample_keys(crude), conversations=fields["conversations"], images=images)


class MicroBatchEncoder(DefaultTaskEncoder):
    """What energon does to samples: read, tokenize, group by length, batch."""

    cookers = (Cooker(_read_sample),)
    decoder = None  # members stay bytes until a rank needs them

    def __init__(
        self,
        encoder: ConversationEncoder,
        place: Place,
        image_encoder: ImageEncoder,
        batch_size: int,
        pad_multiple: int,
        pad_length: int | None,
    ) -> None:
        """`pad_length`: the length of every micro-batch; None: its longest sample rounded up to `pad_multiple`."""
        super().__init__()
        self.encoder, self.place, self.image_encoder, self.batch_size = encoder, place, image_encoder, batch_size
        self.pad_multiple, self.pad_length = pad_multiple, pad_length

    @stateless
    def encode_sample(self, sample: RawSample) -> EncodedSample:
        tokens = self.encoder.encode(sample.__key__, sample.conversations, len(sample.images))
        return EncodedSample.derive_from(sample, ids=tokens.ids, learn=tokens.learn, images=sample.images)

    def select_samples_to_pack(self, samples: list[EncodedSample]) -> list[list[EncodedSample]]:
        """One optimizer step's samples as micro-batches of similar length, so that little is padded."""
        ordered = sorted(samples, key=lambda sample: len(sample.ids))
        return [ordered[start : start + self.batch_size] for start in range(0, len(ordered), self.batch_size)]

    @stateless
    def pack_selected_samples(self, samples: list[EncodedSample]) -> MicroBatch:
        longest = max(len(sample.ids) for sample in samples)
        length = self.pad_length or -(-longest // self.pad_multiple) * self.pad_multiple
        tokens = torch.zeros(len(samples), length, dtype=torch.long)
        labels = torch.full_like(tokens, IGNORE)
        loss_weights = torch.zeros(len(samples), length)
        for row, sample in enumerate(samples):
            count = len(sample.ids)
            tokens[row, :count] = sample.ids
            learn = sample.learn[1:]
            labels[row, : count - 1] = torch.where(learn, sample.ids[1:], IGNORE)
            loss_weights[row, : count - 1] = learn / learn.sum()
        images = [(sample.__key__, image) for sample in samples for image in sample.images]
        return MicroBatch.derive_from(
            samples[0],
            tokens=tokens,
            labels=labels,
            loss_weights=loss_weights,
            images=self._own_images(images),
            num_tokens=sum(len(sample.ids) for sample in samples),
        )

    def _own_images(self, images: list[tuple[str, bytes]]) -> Images:
        """Of which this rank decodes and encodes its share only."""
        opened = [_open(*image) for image in images]
        sizes = [(picture.height, picture.width) for picture in opened]
        if not self.place.encodes_images:
            return only_counted(self.image_encoder, sizes)

        def load(index: int) -> Image.Image:
            return _decode(images[index][0], opened[index])

        return encode_share(self.image_encoder, sizes, load, self.place.image_rank, self.place.image_size)


def build_loader(
    folder: Path, task_encoder: MicroBatchEncoder, samples_per_step: int, num_workers: int, seed: int
) -> SavableDataLoader[MicroBatch]:
    """An endless loader of micro-batches; `samples_per_step` is this replica's part of a global batch."""
    place = task_encoder.place
    worker_config = WorkerConfig(
        rank=place.data_rank,
        world_size=place.data_size,
        num_workers=num_workers,
        seed_offset=seed,
        global_error_handler=reraise_exception,
    )
    dataset = get_train_dataset(
        folder,
        worker_config=worker_config,
        batch_size=None,
        packing_buffer_size=samples_per_step,
        shuffle_buffer_size=None,
        max_samples_per_sequence=1,  # shards are indexed: every sample is drawn on its own, a full shuffle
        task_encoder=task_encoder,
    )
    return get_savable_loader(dataset, checkpoint_every_sec=0, watchdog_timeout_seconds=None)


def _open(key: str, encoded: bytes) -> Image.Image:
    """An image of which only the header is read."""
    try:
        return Image.open(io.BytesIO(encoded))
    except (UnidentifiedImageError, OSError) as error:
        raise _broken(key, error) from None


def _decode(key: str, picture: Image.Image) -> Image.Image:
    try:
        return picture.convert("RGB")
    except OSError as error:
        raise _broken(key, error) from None


def _broken(key: str, error: Exception) -> UserError:
    return UserError(f"sample {key}: broken image ({error}); make the shards again")

"""Whole Megatron tensors of a living model, one at a time, on the host of the first rank."""

from collections import defaultdict
from typing import Any

import torch
from megatron.core.dist_checkpointing.dict_utils import nested_values
from megatron.core.dist_checkpointing.mapping import ShardedTensor, apply_factories, is_main_replica
from torch import distributed

from models.weight_table import Weight
from training.loop.parallel import sharded_weights
from training.modules.vision_language import VisionLanguageModel

_Place = tuple[str, int | None]
"""A Megatron tensor: its key in a checkpoint, and its layer where it has one."""


class ShardGatherer:
    """The places of all shards are those of Megatron's own sharded state: what can be saved can be gathered."""

    def __init__(self, models: list[VisionLanguageModel]) -> None:
        """A collective over all ranks."""
        self._models, self._buffer = models, torch.empty(0, dtype=torch.uint8)
        self.refresh()
        described = {place: [part.without_data() for part in parts] for place, parts in self._shards.items()}
        self._held: list[Any] = [None] * distributed.get_world_size()
        distributed.all_gather_object(self._held, described)

    def refresh(self) -> None:
        """Look anew where this rank's weights lie."""
        self._shards = _own_shards(self._models)

    def meta(self, weight: Weight) -> torch.Tensor:
        """Shape and type of the whole."""
        form = self._form(weight)
        return torch.empty(_shape(form), dtype=form.dtype, device="meta")

    @torch.no_grad()
    def joined(self, weight: Weight) -> torch.Tensor:
        """The whole on the first rank, until the next is asked for; what others get is nothing. A collective over all
        ranks."""
        place, own = _place_of(weight), distributed.get_rank()
        if own:
            for part in self._shards.get(place, ()):
                distributed.send(part.data.contiguous(), 0)
            return torch.empty(0)
        parts = [
            (described, self._received(described, rank, index, place))
            for rank, held in enumerate(self._held)
            for index, described in enumerate(held.get(place, ()))
        ]
        if len(parts) == 1:
            return parts[0][1].cpu()
        whole = self._room(self.meta(weight))
        for described, data in parts:
            whole[described.global_slice()[described.prepend_axis_num :]] = data
        return whole

    def _room(self, form: torch.Tensor) -> torch.Tensor:
        """Memory for one whole tensor, the same for all: touching new pages costs more than copying."""
        if self._buffer.numel() < form.nbytes:
            self._buffer = torch.empty(form.nbytes, dtype=torch.uint8)
        return self._buffer[: form.nbytes].view(form.dtype).view(form.shape)

    def _received(self, described: ShardedTensor, rank: int, index: int, place: _Place) -> torch.Tensor:
        """A shard of `rank`, the `index`-th that it has of a tensor."""
        if not rank:
            return self._shards[place][index].data
        data = torch.empty(described.local_shape, dtype=described.dtype, device=torch.cuda.current_device())
        distributed.recv(data, rank)
        return data

    def _form(self, weight: Weight) -> ShardedTensor:
        place = _place_of(weight)
        return next(held[place][0] for held in self._held if place in held)


def _own_shards(models: list[VisionLanguageModel]) -> dict[_Place, list[ShardedTensor]]:
    """What this rank alone holds, or is the first to hold, by the tensor it is of."""
    content = sharded_weights(models)
    apply_factories(content)
    found: dict[_Place, list[ShardedTensor]] = defaultdict(list)
    for part in nested_values(content):
        if is_main_replica(part.replica_id):
            layer = part.global_offset[0] if part.prepend_axis_num else None
            found[part.key, layer].append(part)
    return found


def _place_of(weight: Weight) -> _Place:
    return weight.megatron, weight.layer


def _shape(form: ShardedTensor) -> tuple[int, ...]:
    return form.global_shape[form.prepend_axis_num :]

"""Weights of the living model as a Hugging Face folder, by the weight table, without a checkpoint in between.

One tensor at a time: the ranks that hold its shards send them to the first, which splits it into Hugging Face's and
writes those where a safetensors file has them. The folder appears by one rename; its bytes are those that mg2hf.sh
makes of the same checkpoint.
"""

import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from megatron.core.dist_checkpointing.dict_utils import nested_values
from megatron.core.dist_checkpointing.mapping import ShardedTensor, apply_factories, is_main_replica
from torch import distributed

from data.checkpoint_folder import copy_hf_files
from data.online_run import OnlineRun
from models.checkpoint.output_folder import flush, require_space
from models.checkpoint.precision import record_precision
from models.checkpoint.safetensors_writer import SafetensorsWriter
from models.family import Family
from models.processor import mark_as_trained, write_chat_template
from models.weight_table import Weight
from training.modules.vision_language import VisionLanguageModel
from training.parallel import sharded_weights

_FILE_BYTES = int(5e9)
_Place = tuple[str, int | None]
"""A Megatron tensor: its key in a checkpoint, and its layer where it has one."""


class WeightsPublisher:
    """Publishes versions of a model's weights; each is a collective over all ranks."""

    def __init__(self, models: list[VisionLanguageModel], kind: Family, hf: Any, run: OnlineRun, keep: int) -> None:
        """`keep`: how many of the newest versions stay, beside the first."""
        self.models, self.hf, self.kind, self.run, self.keep = models, hf, kind, run, keep
        self.table = kind.weight_table(hf)
        self._shards = _own_shards(models)
        described = {place: [part.without_data() for part in parts] for place, parts in self._shards.items()}
        everywhere: list[Any] = [None] * distributed.get_world_size()
        distributed.all_gather_object(everywhere, described)
        self._held = everywhere

    def publish(self, version: int, hf_files: Path) -> None:
        """Write weights/<version>, with configuration, tokenizer and processor of `hf_files`."""
        self._shards = _own_shards(self.models)
        if distributed.get_rank() == 0:
            self._write(version, hf_files)
        else:
            for weight in self.table:
                self._joined(weight)
        distributed.barrier()

    def _write(self, version: int, hf_files: Path) -> None:
        final = self.run.version(version)
        temporary = final.with_name(f".{final.name}.tmp")
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        copy_hf_files(hf_files, temporary)
        write_chat_template(temporary)
        mark_as_trained(temporary)
        announced = list(self._announced())
        require_space(temporary, sum(tensor.nbytes for _, tensor in announced))
        with SafetensorsWriter(temporary, announced, _FILE_BYTES) as writer:
            for weight in self.table:
                for name, part in zip(weight.hf, weight.split(self._joined(weight), self.hf), strict=True):
                    writer.write(name, part)
        record_precision(temporary, self.kind, self.hf, announced[0][1].dtype)
        flush(temporary)
        temporary.rename(final)
        self._remove_old()

    def _remove_old(self) -> None:
        versions = list(self.run.versions().items())
        for number, path in versions[: -self.keep]:
            if number and not path.is_symlink():
                shutil.rmtree(path)

    def _announced(self) -> Iterator[tuple[str, torch.Tensor]]:
        """(name, meta tensor) of everything that is written, in the table's order."""
        for weight in self.table:
            form = self._form(weight)
            joined = torch.empty(_shape(form), dtype=form.dtype, device="meta")
            yield from zip(weight.hf, weight.split(joined, self.hf), strict=True)

    def _form(self, weight: Weight) -> ShardedTensor:
        return next(held[place][0] for held in self._held if (place := _place_of(weight)) in held)

    @torch.no_grad()
    def _joined(self, weight: Weight) -> torch.Tensor:
        """The whole Megatron tensor on the first rank's host; what others get is nothing."""
        place, own = _place_of(weight), distributed.get_rank()
        for part in self._shards.get(place, ()) if own else ():
            distributed.send(part.data.contiguous(), 0)
        if own:
            return torch.empty(0)
        form = self._form(weight)
        parts = [
            (described, self._received(described, rank, index, place))
            for rank, held in enumerate(self._held)
            for index, described in enumerate(held.get(place, ()))
        ]
        if len(parts) == 1:
            return parts[0][1].cpu()
        whole = torch.empty(_shape(form), dtype=form.dtype)
        for described, data in parts:
            whole[described.global_slice()[described.prepend_axis_num :]] = data
        return whole

    def _received(self, described: ShardedTensor, rank: int, index: int, place: _Place) -> torch.Tensor:
        """A shard of `rank`, the `index`-th that it has of a tensor."""
        if not rank:
            return self._shards[place][index].data
        data = torch.empty(described.local_shape, dtype=described.dtype, device=torch.cuda.current_device())
        distributed.recv(data, rank)
        return data


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

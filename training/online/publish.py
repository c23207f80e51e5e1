"""Weights of the living model as a Hugging Face folder, by the weight table, without a checkpoint in between.

One tensor at a time goes to the first rank, which splits it into Hugging Face's and writes those where a safetensors
file has them. Where adapters alone learn, a version after the first is a PEFT folder. A folder appears by one rename;
its tensors are, bit by bit, those that mg2hf.sh makes of the same checkpoint.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import distributed

from data.adapter_record import Lora
from data.checkpoint_folder import copy_hf_files
from data.online_run import OnlineRun
from models.adapter_table import adapter_table
from models.checkpoint.adapter_folder import Adapter, LowRank
from models.checkpoint.narrowing import Narrowing
from models.checkpoint.output_folder import flush, require_space
from models.checkpoint.peft_writer import write_peft_adapter
from models.checkpoint.precision import record_precision
from models.checkpoint.safetensors_writer import SafetensorsWriter
from models.family import Family
from models.processor import mark_as_trained, write_chat_template
from models.weight_table import Weight
from training.modules.vision_language import VisionLanguageModel
from training.online.gather import ShardGatherer

_FILE_BYTES = int(5e9)


class WeightsPublisher:
    """Publishes versions of a model's weights; each is a collective over all ranks."""

    def __init__(
        self, models: list[VisionLanguageModel], kind: Family, hf: Any, run: OnlineRun, keep: int, lora: Lora | None
    ) -> None:
        """`keep`: how many of the newest versions stay, beside the first. `lora`: of adapters that alone learn."""
        self.hf, self.kind, self.run, self.keep, self.lora = hf, kind, run, keep, lora
        self.gatherer = ShardGatherer(models)

    def publish(self, version: int, hf_files: Path) -> None:
        """Write weights/<version>; a whole one with configuration, tokenizer and processor of `hf_files`."""
        self.gatherer.refresh()
        final = self.run.version(version)
        temporary = final.with_name(f".{final.name}.tmp")
        is_first = distributed.get_rank() == 0
        if is_first:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
        if version and self.lora:
            self._write_adapter(temporary, self.lora, is_first)
        else:
            self._write_model(temporary, hf_files, is_first)
        if is_first:
            flush(temporary)
            temporary.rename(final)
            self._remove_old()
        distributed.barrier()

    def _write_model(self, folder: Path, hf_files: Path, is_first: bool) -> None:
        table = self.kind.weight_table(self.hf)
        if not is_first:
            for weight in table:
                self.gatherer.joined(weight)
            return
        copy_hf_files(hf_files, folder)
        write_chat_template(folder)
        mark_as_trained(folder)
        announced = [pair for weight in table for pair in self._named(weight, self.gatherer.meta(weight))]
        require_space(folder, sum(tensor.nbytes for _, tensor in announced))
        with SafetensorsWriter(folder, announced, _FILE_BYTES) as writer:
            for weight in table:
                for name, part in self._named(weight, self.gatherer.joined(weight)):
                    writer.write(name, part)
        record_precision(folder, self.kind, self.hf, announced[0][1].dtype)

    def _write_adapter(self, folder: Path, lora: Lora, is_first: bool) -> None:
        table = adapter_table(self.kind, self.hf)
        sides: tuple[dict[str, torch.Tensor], ...] = ({}, {})
        for pair in table:
            for found, weight in zip(sides, pair, strict=True):
                joined = self.gatherer.joined(weight)
                if is_first:
                    found.update((name, part.clone()) for name, part in self._named(weight, joined))
        if is_first:
            adapter = Adapter({name: LowRank(a, sides[1][name], lora.scale) for name, a in sides[0].items()})
            base = str(self.run.version(0).absolute())
            write_peft_adapter(adapter, folder, self.kind, base, None, Narrowing())

    def _named(self, weight: Weight, joined: torch.Tensor) -> Sequence[tuple[str, torch.Tensor]]:
        """Hugging Face's tensors of a Megatron one."""
        return list(zip(weight.hf, weight.split(joined, self.hf), strict=True))

    def _remove_old(self) -> None:
        for number, path in list(self.run.versions().items())[: -self.keep]:
            if number:
                shutil.rmtree(path)

"""Convert a checkpoint between Hugging Face (safetensors) and Megatron (`torch_dist`), in one process, without a GPU.

    python toolkits/model_checkpoints_convertor/convert.py --direction hf2mg --load_path HF_DIR --save_path MEGATRON_DIR
    python toolkits/model_checkpoints_convertor/convert.py --direction mg2hf --load_path MEGATRON_DIR --save_path HF_DIR

A Megatron checkpoint fits every tensor- and pipeline-parallel size. An interrupted conversion leaves no `save_path`.
"""

import dataclasses
import importlib
import json
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import torch

from data import cli
from data.errors import UserError
from data.files import read_json, write_json
from training.models import cpu_adaptor
from training.models.checkpoint_folder import RELEASE, copy_hf_files, find_weights, write_tracker

_MODELS = ("idefics2",)
_DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}


@dataclasses.dataclass(frozen=True)
class Config:
    direction: Literal["hf2mg", "mg2hf"]
    """Hugging Face to Megatron, or back."""
    load_path: Path
    """hf2mg: a Hugging Face folder. mg2hf: a Megatron checkpoint folder, or one iteration in it."""
    save_path: Path
    """The folder to make; it must not exist."""
    dtype: Literal["bf16", "fp32"] = "bf16"
    """Precision of the weights that are written."""
    max_shard_size_gb: float = 5.0
    """mg2hf: size of one safetensors file."""


def main(config: Config) -> None:
    """Convert into a temporary folder beside `save_path`, renamed at the end."""
    if config.save_path.exists():
        raise UserError(f"{config.save_path}: exists already; remove it or choose another --save_path")
    temporary = config.save_path.with_name(f".{config.save_path.name}.partial")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        (_to_megatron if config.direction == "hf2mg" else _to_hf)(config, temporary)
        temporary.rename(config.save_path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _to_megatron(config: Config, destination: Path) -> None:
    reader = HfReader(config.load_path)
    hf_config, table = _model(config.load_path)
    checkpointing = _dist_checkpointing()
    sharded: dict[str, Any] = {}
    for weight in table:
        parts = [reader.read(name).to(_DTYPES[config.dtype]) for name in weight.hf]
        tensor = weight.join(parts, hf_config).contiguous()
        key = weight.megatron if weight.layer is None else f"{weight.megatron}/{weight.layer}"
        sharded[key] = _sharded(checkpointing, weight, tensor, hf_config.text_config.num_hidden_layers)
    (destination / RELEASE).mkdir()
    from training.models import torch_dist

    torch_dist.save({"model": sharded}, destination / RELEASE)
    copy_hf_files(config.load_path, destination)
    write_tracker(destination, RELEASE)


def _to_hf(config: Config, destination: Path) -> None:
    weights, hf_files = find_weights(config.load_path)
    hf_config, table = _model(hf_files)
    checkpointing = _dist_checkpointing()
    writer = HfWriter(destination, int(config.max_shard_size_gb * 1e9))
    for batch in _batches(checkpointing, table, checkpointing.load_tensors_metadata(str(weights)), config.load_path):
        shards = {key: sharded for key, (_, sharded) in batch.items()}
        loaded = checkpointing.load(shards, str(weights), validate_access_integrity=False)
        for key, (weight, _) in batch.items():
            for name, part in zip(weight.hf, weight.split(loaded[key], hf_config), strict=True):
                writer.add(name, part.to(_DTYPES[config.dtype]).contiguous())
    writer.close()
    copy_hf_files(hf_files, destination)
    fields = read_json(destination / "config.json")
    write_json(destination / "config.json", {**fields, "dtype": str(_DTYPES[config.dtype]).removeprefix("torch.")})


def _model(folder: Path) -> tuple[Any, list[Any]]:
    """(configuration, weight table) of the model whose Hugging Face files lie in `folder`."""
    name = read_json(folder / "config.json").get("model_type")
    if name not in _MODELS:
        raise UserError(f"{folder}: model_type is {name!r}; supported: {', '.join(_MODELS)}")
    config = importlib.import_module(f"training.models.{name}.config").read_config(folder)
    return config, importlib.import_module(f"training.models.{name}.weights").weight_table(config)


def _dist_checkpointing() -> Any:
    """megatron-core's checkpointing, with this process as its only rank."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about kernels that no conversion needs
        cpu_adaptor.install()
        from megatron.core import dist_checkpointing
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    return dist_checkpointing


def _sharded(checkpointing: Any, weight: Any, tensor: torch.Tensor, num_layers: int) -> Any:
    """`tensor` as the whole of its checkpoint entry, or as one layer of it."""
    if weight.layer is None:
        return checkpointing.ShardedTensor.from_rank_offsets(weight.megatron, tensor)
    offset = (0, weight.layer, num_layers)
    return checkpointing.ShardedTensor.from_rank_offsets(weight.megatron, tensor, offset, prepend_axis_num=1)


def _batches(
    checkpointing: Any, table: list[Any], metadata: dict[str, Any], source: Path, max_elements: int = 500_000_000
) -> Iterator[dict[str, tuple[Any, Any]]]:
    """The table in parts that fit in memory: {unique key: (weight, where to load it)}."""
    batch: dict[str, tuple[Any, Any]] = {}
    num_elements = 0
    for weight in table:
        if weight.megatron not in metadata:
            raise UserError(f"{source}: has no {weight.megatron}; is it another model?")
        entry = metadata[weight.megatron]
        shape = entry.global_shape if weight.layer is None else entry.global_shape[1:]
        tensor = torch.empty(shape, dtype=entry.dtype)
        key = f"{weight.megatron}/{weight.layer}"
        batch[key] = weight, _sharded(checkpointing, weight, tensor, entry.global_shape[0])
        num_elements += tensor.numel()
        if num_elements >= max_elements:
            yield batch
            batch, num_elements = {}, 0
    yield batch


class HfReader:
    """Tensors by name from a folder of safetensors files, memory-mapped."""

    def __init__(self, folder: Path) -> None:
        from safetensors import safe_open

        self.folder = folder
        paths = sorted(Path(folder).glob("*.safetensors"))
        if not paths:
            raise UserError(f"{folder}: no *.safetensors here; --load_path must be a Hugging Face checkpoint folder")
        files = [safe_open(path, framework="pt") for path in paths]
        self._files = {name: file for file in files for name in file.keys()}  # noqa: SIM118 (not a dict)

    def read(self, name: str) -> torch.Tensor:
        """`UserError` when the checkpoint has no tensor `name`."""
        if name not in self._files:
            raise UserError(f"{self.folder}: has no tensor {name}; is it another model?")
        return self._files[name].get_tensor(name)


class HfWriter:
    """Writes safetensors files of at most `max_bytes`, and their index when there are several."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.folder, self.max_bytes = folder, max_bytes
        self._pending: dict[str, torch.Tensor] = {}
        self._pending_bytes = self._total_bytes = 0
        self._written: list[list[str]] = []

    def add(self, name: str, tensor: torch.Tensor) -> None:
        """Queue one tensor; a full file is written."""
        if self._pending and self._pending_bytes + tensor.nbytes > self.max_bytes:
            self._flush()
        self._pending[name] = tensor
        self._pending_bytes += tensor.nbytes
        self._total_bytes += tensor.nbytes

    def close(self) -> None:
        """Write the rest and give the files their names, which count them."""
        self._flush()
        count = len(self._written)
        index: dict[str, str] = {}
        for number, names in enumerate(self._written, start=1):
            name = "model.safetensors" if count == 1 else f"model-{number:05d}-of-{count:05d}.safetensors"
            (self.folder / f"part{number}").rename(self.folder / name)
            index |= dict.fromkeys(names, name)
        if count > 1:
            content = {"metadata": {"total_size": self._total_bytes}, "weight_map": index}
            (self.folder / "model.safetensors.index.json").write_text(json.dumps(content, indent=2))

    def _flush(self) -> None:
        from safetensors.torch import save_file

        self._written.append(list(self._pending))
        save_file(self._pending, self.folder / f"part{len(self._written)}", metadata={"format": "pt"})
        self._pending, self._pending_bytes = {}, 0


if __name__ == "__main__":
    cli.run(Config, main)

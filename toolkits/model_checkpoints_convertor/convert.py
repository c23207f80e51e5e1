"""Convert a checkpoint between Hugging Face (safetensors) and Megatron (`torch_dist`), in one process, without a GPU.

    python toolkits/model_checkpoints_convertor/convert.py --direction hf2mg --load_path HF_DIR --save_path MEGATRON_DIR
    python toolkits/model_checkpoints_convertor/convert.py --direction mg2hf --load_path MEGATRON_DIR --save_path HF_DIR

A Megatron checkpoint fits every tensor- and pipeline-parallel size. An interrupted conversion leaves no `save_path`.
"""

import dataclasses
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import torch

from data import cli
from data.errors import UserError
from data.files import read_json, write_json
from toolkits.model_checkpoints_convertor.hf_weights import HfReader, HfWriter
from training.models import cpu_adaptor
from training.models.checkpoint_folder import RELEASE, copy_hf_files, find_weights, write_tracker
from training.models.registry import family

_DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}
_BATCH_ELEMENTS = 500_000_000
"""How much of a Megatron checkpoint is in memory at a time."""


@dataclasses.dataclass(frozen=True)
class Config:
    direction: Literal["hf2mg", "mg2hf"]
    """Hugging Face to Megatron, or back."""
    load_path: Path
    """hf2mg: a Hugging Face folder. mg2hf: a Megatron checkpoint folder, or one iteration in it."""
    save_path: Path
    """The folder to make; a checkpoint that is there already is replaced."""
    dtype: Literal["auto", "bf16", "fp32"] = "auto"
    """Precision of the weights that are written; auto keeps it."""
    max_shard_size_gb: float = 5.0
    """mg2hf: size of one safetensors file."""


def main(config: Config) -> None:
    """Convert into a temporary folder beside `save_path`, renamed at the end."""
    if config.save_path.exists() and not (config.save_path / "config.json").exists():
        raise UserError(f"{config.save_path}: exists and is no checkpoint; remove it or choose another --save_path")
    temporary = config.save_path.with_name(f".{config.save_path.name}.partial")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        (_to_megatron if config.direction == "hf2mg" else _to_hf)(config, temporary)
        if config.save_path.exists():
            shutil.rmtree(config.save_path)
        temporary.rename(config.save_path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _to_megatron(config: Config, destination: Path) -> None:
    hf_config, table = _model(config.load_path)
    reader = HfReader(config.load_path, family(config.load_path).spellings)
    torch_dist = _torch_dist()
    num_layers = hf_config.text_config.num_hidden_layers
    sharded = {}
    for weight in table:
        parts = [_cast(reader.read(name), config.dtype) for name in weight.hf]
        tensor = weight.join(parts, hf_config).contiguous()
        sharded[weight.hf[0]] = _sharded(torch_dist, weight, tensor, num_layers)
    (destination / RELEASE).mkdir()
    torch_dist.save({"model": sharded}, destination / RELEASE)
    copy_hf_files(config.load_path, destination)
    write_tracker(destination, RELEASE)


def _to_hf(config: Config, destination: Path) -> None:
    weights, hf_files = find_weights(config.load_path)
    hf_config, table = _model(hf_files)
    torch_dist = _torch_dist()
    writer = HfWriter(destination, int(config.max_shard_size_gb * 1e9))
    for batch in _batches(torch_dist, table, weights):
        loaded = torch_dist.load({weight.hf[0]: sharded for weight, sharded in batch}, weights)
        for weight, _ in batch:
            for name, part in zip(weight.hf, weight.split(loaded[weight.hf[0]], hf_config), strict=True):
                part = _cast(part, config.dtype).contiguous()
                writer.add(name, part)
    writer.close()
    copy_hf_files(hf_files, destination)
    fields = read_json(destination / "config.json")
    write_json(destination / "config.json", {**fields, "dtype": str(part.dtype).removeprefix("torch.")})


def _cast(tensor: torch.Tensor, dtype: str) -> torch.Tensor:
    return tensor.to(_DTYPES.get(dtype, tensor.dtype))


def _model(folder: Path) -> tuple[Any, list[Any]]:
    """(configuration, weight table) of the model whose Hugging Face files lie in `folder`."""
    kind = family(folder)
    config = kind.read_config(folder)
    return config, kind.weight_table(config)


def _torch_dist() -> ModuleType:
    """Megatron's checkpoints, imported when all else is known to be right: it takes seconds."""
    warnings.simplefilter("ignore")  # about kernels that no conversion needs, and torch's own deprecations
    cpu_adaptor.install()
    from training.models import torch_dist

    torch_dist.initialize_alone()
    return torch_dist


def _sharded(torch_dist: ModuleType, weight: Any, tensor: torch.Tensor, num_layers: int) -> Any:
    if weight.layer is None:
        return torch_dist.whole(weight.megatron, tensor)
    return torch_dist.one_layer(weight.megatron, tensor, weight.layer, num_layers)


def _batches(torch_dist: ModuleType, table: list[Any], weights: Path) -> Iterator[list[tuple[Any, Any]]]:
    """The table in parts that fit in memory, each weight with the place to load it into."""
    shapes = torch_dist.tensor_shapes(weights)
    batch: list[tuple[Any, Any]] = []
    num_elements = 0
    for weight in table:
        if weight.megatron not in shapes:
            raise UserError(f"{weights}: has no {weight.megatron}; is it another model?")
        shape, dtype = shapes[weight.megatron]
        tensor = torch.empty(shape if weight.layer is None else shape[1:], dtype=dtype)
        batch.append((weight, _sharded(torch_dist, weight, tensor, num_layers=shape[0])))
        num_elements += tensor.numel()
        if num_elements >= _BATCH_ELEMENTS:
            yield batch
            batch, num_elements = [], 0
    yield batch


if __name__ == "__main__":
    cli.run(Config, main)

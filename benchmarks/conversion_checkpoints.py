"""Checkpoint conversion against a plain copy of the same bytes: seconds, CPU seconds and peak memory, both ways.

    python benchmarks/conversion_checkpoints.py --work_dir DIR                    # 2 of idefics2-8b's 32 layers
    python benchmarks/conversion_checkpoints.py --work_dir DIR --num_layers 32    # all of it: 34 GB of disk at a time

Makes an idefics2-8b with random weights in bf16 in DIR, then measures each way in a process of its own: Hugging Face ->
Megatron (`torch_dist`) -> Hugging Face, each right after a copy of its own input's files, and checks that every tensor
is bitwise what it was. Every measurement starts with its input on disk, not in memory, and ends when its output is
flushed to disk; so does the copy. Copy and conversion take turns, repeat by repeat.
"""

import dataclasses
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # training.py lies in this folder and would hide the room

import torch

from benchmarks.figures import Figure, plain, watched
from common import cli
from common.files import write_json
from models.checkpoint.safetensors_writer import SafetensorsWriter
from models.checkpoint.weight_tensors import open_weights
from models.registry import family
from models.weight_table import find_spelling

_ROOT = Path(__file__).resolve().parent.parent
_IDEFICS2_8B = {
    "architectures": ["Idefics2ForConditionalGeneration"],
    "model_type": "idefics2",
    "image_token_id": 32001,
    "tie_word_embeddings": False,
    "perceiver_config": {"model_type": "idefics2"},
    "text_config": {
        "model_type": "mistral",
        "vocab_size": 32003,
        "max_position_embeddings": 32768,
        "rms_norm_eps": 1e-5,
        "pad_token_id": 0,
    },
    "vision_config": {
        "model_type": "idefics2",
        "hidden_size": 1152,
        "image_size": 980,
        "intermediate_size": 4304,
        "num_attention_heads": 16,
        "num_hidden_layers": 27,
        "patch_size": 14,
    },
}
"""The released model's sizes; what is not here is transformers' default for the family."""


@dataclasses.dataclass(frozen=True)
class Config:
    work_dir: Path
    """A folder that does not exist yet; removed at the end."""
    num_layers: int = 2
    """Of the language model; idefics2-8b has 32. The vision tower (27 layers) and the perceiver are always whole."""
    max_shard_size_gb: float = 5.0
    """Size of one safetensors file."""
    num_repeats: int = 3
    """Of each way."""
    output: Path | None = None
    """Also write the table here, as JSON."""


@dataclasses.dataclass
class Measurement:
    seconds: float
    cpu_seconds: float
    peak_mb: float


def main(config: Config) -> None:
    """Print the table."""
    config.work_dir.mkdir(parents=True)
    try:
        with watched(config.num_repeats) as load:
            table = _measure_all(config)
    finally:
        shutil.rmtree(config.work_dir)
    _print(table)
    print(load)
    if config.output:
        rows = dict(zip(table["rows"], plain(list(table["rows"].values())), strict=True))
        write_json(config.output, {**table, "rows": rows, "load": dataclasses.asdict(load)})


def make_random_checkpoint(folder: Path, fields: dict[str, Any], max_shard_bytes: int) -> None:
    """A Hugging Face folder for the configuration `fields`, bf16, streamed."""
    folder.mkdir(parents=True)
    write_json(folder / "config.json", fields)
    announced = _announced(folder)
    with SafetensorsWriter(folder, announced, max_shard_bytes) as writer:
        for name, values in _random_tensors(announced):
            writer.write(name, values)


def check_random_checkpoint(folder: Path) -> None:
    """Raises unless every tensor in `folder` is bitwise what `make_random_checkpoint` gave it."""
    announced, stored = _announced(folder), open_weights(folder)
    assert stored.keys() == dict(announced).keys(), "the round trip lost or added tensors"
    for name, values in _random_tensors(announced):
        assert stored[name].read().view(torch.int16).equal(values.view(torch.int16)), f"{name} changed"


def _announced(folder: Path) -> list[tuple[str, torch.Tensor]]:
    """(name, meta tensor) of every tensor of the model of `folder`'s config.json."""
    from transformers import AutoModelForImageTextToText

    kind = family(folder)
    config = kind.read_config(folder)
    with torch.device("meta"):
        shapes = AutoModelForImageTextToText.from_config(config, dtype=torch.bfloat16).state_dict()
    names = [name for weight in kind.weight_table(config) for name in weight.hf]
    return [(name, shapes[find_spelling(name, kind.spellings, shapes) or name]) for name in names]


def _random_tensors(announced: list[tuple[str, torch.Tensor]]) -> Iterator[tuple[str, torch.Tensor]]:
    """The same values at every call; no two tensors are alike."""
    pool = torch.randn(2**26, generator=torch.Generator().manual_seed(0)).mul(0.02).bfloat16()
    for number, (name, tensor) in enumerate(announced):
        start = 7919 * number % (pool.numel() // 4)
        values = pool[start : start + tensor.numel()]
        if values.numel() < tensor.numel():
            values = values.repeat(-(-tensor.numel() // values.numel()))[: tensor.numel()]
        yield name, values.view(tensor.shape)


def _measure_all(config: Config) -> dict[str, Any]:
    hf, megatron, back = (config.work_dir / name for name in ("hf", "megatron", "back"))
    fields = {**_IDEFICS2_8B, "text_config": {**_IDEFICS2_8B["text_config"], "num_hidden_layers": config.num_layers}}
    make_random_checkpoint(hf, fields, int(config.max_shard_size_gb * 1e9))
    num_bytes = _size(hf)
    rows = {"hf2mg": _measure_direction("hf2mg", hf, megatron, config)}
    shutil.rmtree(hf)
    rows["mg2hf"] = _measure_direction("mg2hf", megatron, back, config)
    shutil.rmtree(megatron)
    check_random_checkpoint(back)
    return {"num_layers": config.num_layers, "gigabytes": num_bytes / 1e9, "rows": rows}


def _measure_direction(direction: str, source: Path, destination: Path, config: Config) -> dict[str, Any]:
    """A copy of `source`'s files, and right after it the conversion of `source`, which stays; again and again."""
    copied = config.work_dir / "copy"
    copies, conversions = [], []
    for _ in range(config.num_repeats):
        shutil.rmtree(destination, ignore_errors=True)
        copies.append(_measure(source, lambda: _copy(source, copied)))
        print(f"copy of the files {direction} reads: {copies[-1].seconds:.1f} s", flush=True)
        shutil.rmtree(copied)
        os.sync()
        conversions.append(_measure(source, lambda: _convert(direction, source, destination, config)))
        print(f"{direction}: {conversions[-1].seconds:.1f} s", flush=True)
    return {
        "copy_s": Figure.of([one.seconds for one in copies]),
        "copy_cpu_s": Figure.of([one.cpu_seconds for one in copies]),
        "seconds": Figure.of([one.seconds for one in conversions]),
        "cpu_s": Figure.of([one.cpu_seconds for one in conversions]),
        "peak_mb": Figure.of([one.peak_mb for one in conversions]),
        "times_the_copy": Figure.times([one.seconds for one in conversions], [one.seconds for one in copies]),
    }


def _measure(source: Path, start: Callable[[], subprocess.Popen]) -> Measurement:
    """Time and memory of the process that `start` starts."""
    for path in source.rglob("*"):
        if path.is_file():
            _forget(path)
    begin = time.perf_counter()
    process = start()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    assert status == 0, "the process failed"
    return Measurement(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def _forget(path: Path) -> None:
    """Drop a file from the system's cache."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


_COPY = """
import os, pathlib, shutil, sys
source, destination = map(pathlib.Path, sys.argv[1:])
shutil.copytree(source, destination, copy_function=shutil.copyfile)
for path in destination.rglob("*"):
    if path.is_file():
        os.fsync(os.open(path, os.O_RDONLY))
"""


def _copy(source: Path, destination: Path) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", _COPY, source, destination])


def _convert(direction: str, load_path: Path, save_path: Path, config: Config) -> subprocess.Popen:
    command = [sys.executable, _ROOT / "toolkits" / "model_checkpoints_convertor" / "convert.py"]
    command += ["--direction", direction, "--load_path", load_path, "--save_path", save_path]
    command += ["--max_shard_size_gb", str(config.max_shard_size_gb)]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(_ROOT)})


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _print(table: dict[str, Any]) -> None:
    print(f"idefics2-8b with {table['num_layers']} layers, bf16, {table['gigabytes']:.2f} GB")
    for direction, row in table["rows"].items():
        print(f"copy of the files {direction} reads: {row['copy_s']} s, {row['copy_cpu_s']} CPU s")
        print(f"{direction}: {row['seconds']} s, {row['times_the_copy']} times the copy, {row['cpu_s']} CPU s")
        print(f"{direction}: {row['peak_mb']} MB at its peak")
    print("after the round trip every tensor is bitwise what it was")


if __name__ == "__main__":
    cli.run(Config, main)

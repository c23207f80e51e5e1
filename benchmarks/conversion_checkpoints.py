"""Checkpoint conversion against a plain copy of the same bytes: seconds, CPU seconds and peak memory, both ways.

    python benchmarks/conversion_checkpoints.py --work_dir DIR                    # 2 of idefics2-8b's 32 layers
    python benchmarks/conversion_checkpoints.py --work_dir DIR --num_layers 32    # all of it: 34 GB of disk at a time

Makes an idefics2-8b with random weights in bf16 in DIR, then measures each way in a process of its own: Hugging Face ->
Megatron (`torch_dist`) -> Hugging Face, and checks that the last folder's files are the first's, byte for byte. Every
measurement starts with its input on disk, not in memory, and ends when its output is flushed to disk; so does the copy.
"""

import dataclasses
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from data import cli
from data.files import write_json
from toolkits.model_checkpoints_convertor.hf_weights import SafetensorsWriter
from training.models.registry import family
from training.models.weight_table import find_spelling

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
        rows = _measure_all(config)
    finally:
        shutil.rmtree(config.work_dir)
    _print(rows)
    if config.output:
        write_json(config.output, rows)


def make_random_checkpoint(folder: Path, fields: dict[str, Any], max_shard_bytes: int) -> None:
    """A Hugging Face folder for the configuration `fields`, bf16, streamed."""
    from transformers import AutoModelForImageTextToText

    folder.mkdir(parents=True)
    write_json(folder / "config.json", fields)
    kind = family(folder)
    config = kind.read_config(folder)
    with torch.device("meta"):
        shapes = AutoModelForImageTextToText.from_config(config, dtype=torch.bfloat16).state_dict()
    names = [name for weight in kind.weight_table(config) for name in weight.hf]
    announced = [(name, shapes[find_spelling(name, kind.spellings, shapes) or name]) for name in names]
    pool = torch.randn(2**26, generator=torch.Generator().manual_seed(0)).mul(0.02).bfloat16()
    with SafetensorsWriter(folder, announced, max_shard_bytes) as writer:
        for number, (name, tensor) in enumerate(announced):
            start = 7919 * number % (pool.numel() // 4)  # no two tensors are alike
            values = pool[start : start + tensor.numel()]
            if values.numel() < tensor.numel():
                values = values.repeat(-(-tensor.numel() // values.numel()))[: tensor.numel()]
            writer.write(name, values.view(tensor.shape))


def _measure_all(config: Config) -> dict[str, Any]:
    hf, copied, megatron, back = (config.work_dir / name for name in ("hf", "copy", "megatron", "back"))
    fields = {**_IDEFICS2_8B, "text_config": {**_IDEFICS2_8B["text_config"], "num_hidden_layers": config.num_layers}}
    make_random_checkpoint(hf, fields, int(config.max_shard_size_gb * 1e9))
    num_bytes, before = _size(hf), _digests(hf)
    copy = _measure(hf, lambda: _copy(hf, copied))
    shutil.rmtree(copied)
    to_megatron = _measure(hf, lambda: _convert("hf2mg", hf, megatron, config))
    shutil.rmtree(hf)
    to_hf = _measure(megatron, lambda: _convert("mg2hf", megatron, back, config))
    assert _digests(back) == before, "the round trip is not exact"
    measured = {"copy of the files": copy, "hf2mg": to_megatron, "mg2hf": to_hf}
    return {
        "num_layers": config.num_layers,
        "gigabytes": num_bytes / 1e9,
        "rows": {
            name: {**dataclasses.asdict(one), "times_the_copy": one.seconds / copy.seconds}
            for name, one in measured.items()
        },
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
destination.mkdir()
for path in source.iterdir():
    shutil.copyfile(path, destination / path.name)
    descriptor = os.open(destination / path.name, os.O_RDONLY)
    os.fsync(descriptor)
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


def _digests(folder: Path) -> dict[str, str]:
    """Of all weight files."""
    digests = {}
    for path in sorted(folder.glob("*.safetensors")):
        with open(path, "rb") as file:
            digests[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


def _print(table: dict[str, Any]) -> None:
    print(f"idefics2-8b with {table['num_layers']} layers, bf16, {table['gigabytes']:.2f} GB")
    print(f"{'':20}{'seconds':>10}{'x copy':>10}{'CPU s':>10}{'peak MB':>10}")
    for name, row in table["rows"].items():
        numbers = f"{row['seconds']:10.1f}{row['times_the_copy']:10.2f}{row['cpu_seconds']:10.1f}{row['peak_mb']:10.0f}"
        print(f"{name:20}{numbers}")
    print("the round trip is exact, byte for byte")
    print(json.dumps(table))


if __name__ == "__main__":
    cli.run(Config, main)

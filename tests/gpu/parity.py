"""Every layout that fits the GPUs against Hugging Face, by tests/training/parity_worker.py under torchrun."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from elcano.executors.executor import Command
from elcano.executors.local import Executor
from tests import tiny
from tests.conftest import ROOT
from tests.gpu.result import FailedError, Machine, Result
from tests.tiny import llava, qwen2_5_vl, qwen3_vl
from tests.training import rounding
from toolkits.model_checkpoints_convertor import convert

WORKER = ROOT / "tests" / "training" / "parity_worker.py"
HEADS = 8
"""Key/value heads of the idefics2, so that TP=8 can cut them."""
LAYOUTS = {
    1: ("tp1", "packed", "full", "selective", "bf16", "packed,bf16"),
    2: ("tp2", "tp2,sp,packed", "pp2", "pp2,vpp2", "cp2", "cp2,packed", "do", "do,overlap", "tp2,sp,bf16", "cp2,bf16"),
    4: ("tp4,sp", "tp2,pp2,sp,full", "tp2,cp2,sp", "tp2,sp,do,overlap", "pp2,cp2,packed", "pp2,vpp2,do,overlap,bf16"),
    8: ("tp8", "tp8,sp,bf16", "tp4,pp2,sp", "tp2,sp,do,overlap", "tp2,pp2,cp2", "tp4,cp2,sp,bf16"),
}
"""By number of ranks; those that a layout leaves are data-parallel."""
FAMILIES: dict[str, Callable[[Path], Path]] = {
    "idefics2": lambda folder: tiny.build_policy(folder, heads=HEADS, kv_heads=HEADS, hidden=128, layers=4),
    "llava": lambda folder: llava.build_policy(folder, is_next=False),
    # a window shorter than the samples
    "llava_next": lambda folder: llava.build_policy(folder, is_next=True, text="mistral", sliding_window=24),
    "qwen2_5_vl": qwen2_5_vl.build_policy,
    # three rows of positions; features for the decoder's first layers
    "qwen3_vl": lambda folder: qwen3_vl.build_policy(folder, layers=12),
}
"""A tiny policy of each, by its name."""
_SMALL = {"idefics2": ("tp1", "selective", "packed,bf16")}
_SMALL_OF_OTHERS = ("packed", "bf16")
LOGITS, TOLERANCE = 1e-4, 1e-5
"""Largest differences in fp32: of logits; of losses, gradients, norms and statistics."""
REDUCED = 0.05
"""Largest differences in fp32 and, as a share of the largest gradient, in TensorFloat-32 (TransformerEngine's products
of fp32 numbers)."""


def run(machine: Machine, result: Result, te: str) -> None:
    """Compare in all layouts of 1, 2, 4 and 8 ranks that there are GPUs for; on a CPU of 1 and 2."""
    folder = machine.folder / f"parity_te_{te}"
    shutil.rmtree(folder, ignore_errors=True)  # what ranks left there of an earlier run would be waited for
    folder.mkdir()
    models = {name: build(folder / name) for name, build in FAMILIES.items()}
    megatron = {name: _converted(hf, folder / f"{name}_megatron") for name, hf in models.items()}
    result.figures, wrong = {}, []
    for ranks, layouts in LAYOUTS.items():
        if ranks > min(machine.num_gpus or 2, machine.max_ranks):
            continue
        chosen = {name: _fitting(name, ranks, layouts, machine.small) for name in models}
        found = _compare(folder / f"ranks{ranks}.json", ranks, chosen, models, megatron, te, result)
        result.figures[f"{ranks} ranks"] = found
        for name, by_layout in found.items():
            largest = by_layout.pop("largest gradient")
            wrong += [f"{name} {text}" for text, one in by_layout.items() if not _holds(text, one, largest, te)]
    count = sum(len(by_layout) for found in result.figures.values() for by_layout in found.values())
    result.summary = f"{count} layouts of {', '.join(models)}"
    if wrong:
        raise FailedError(f"not as Hugging Face: {', '.join(wrong)}")


def _converted(hf: Path, target: Path) -> Path:
    """As hf2mg.sh does, without a process for each."""
    convert.main(convert.Config(direction="hf2mg", load_path=hf, save_path=target, dtype="fp32"))
    return target


def _fitting(name: str, ranks: int, layouts: tuple[str, ...], small: bool) -> list[str]:
    """Of a family: the others have two heads of keys and values."""
    if small:
        layouts = _SMALL.get(name, _SMALL_OF_OTHERS) if ranks == 1 else layouts[::3]
    return [text for text in layouts if name == "idefics2" or not {"tp4", "tp8"} & set(text.split(","))]


def _compare(
    output: Path,
    ranks: int,
    layouts: dict[str, list[str]],
    models: dict[str, Path],
    megatron: dict[str, Path],
    te: str,
    result: Result,
) -> dict[str, dict[str, Any]]:
    """Differences by model and layout."""
    arguments: list[str] = []
    for name in models:
        arguments += [str(models[name]), str(megatron[name]), " ".join(layouts[name])]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    command += [str(WORKER), str(output), *arguments]
    environment = {"PYTHONPATH": str(ROOT), "TE": te, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    Executor().run(Command(command, output.with_suffix(".log"), environment))
    result.commands.append(" ".join(command))
    return dict(zip(models, json.loads(output.read_text()), strict=True))


def _holds(layout: str, found: dict[str, Any], largest: float, te: str) -> bool:
    if "bf16" in layout:
        return not rounding.beyond(rounding.read(found), 2.0 if te == "true" else 1.0)
    if te == "true":
        return found["loss"] < 5e-3 and found["gradient"] < REDUCED * largest
    return all(value < (LOGITS if name == "logits" else TOLERANCE) for name, value in found.items())

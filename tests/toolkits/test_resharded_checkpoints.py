"""HF -> Megatron -> every layout -> HF: bitwise what it was, for all models, in bf16 and fp32."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from data.processes import die_with_parent
from tests.conftest import ROOT
from tests.toolkits.checkpoints import convert, read_hf
from tests.training import tiny, tiny_llava
from training.models.registry import family
from training.models.weight_table import find_spelling


def build(name: str, folder: Path) -> Path:
    if name == "idefics2":
        return tiny.build_policy(folder, vocab_size=500, heads=4, kv_heads=4, tied=False)
    return tiny_llava.build_policy(folder, is_next=name == "llava_next", kv_heads=4)


def check_same(before: dict[str, torch.Tensor], after: dict[str, torch.Tensor], folder: Path) -> None:
    """Released names and today's count as one."""
    assert len(before) == len(after)
    for name, tensor in after.items():
        spelling = find_spelling(name, family(folder).spellings, before)
        assert spelling and tensor.dtype == before[spelling].dtype and tensor.equal(before[spelling]), name


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
@pytest.mark.parametrize(("num_ranks", "layouts"), [(2, "1x1 2x1 1x2"), (8, "4x1 2x2 4x2")])
def test_every_layout_gives_the_same_bits(tmp_path: Path, num_ranks: int, layouts: str, dtype: str) -> None:
    folders = {name: build(name, tmp_path / name) for name in ("idefics2", "llava", "llava_next")}
    megatron = [convert("hf2mg", hf, tmp_path / f"{name}-mg", dtype=dtype) for name, hf in folders.items()]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={num_ranks}"]
    command += [ROOT / "tests" / "toolkits" / "reshard_worker.py", ",".join(map(str, megatron)), *layouts.split()]
    subprocess.run(command, check=True, env=tiny.environment(), preexec_fn=die_with_parent)
    for (name, hf), mg in zip(folders.items(), megatron, strict=True):
        before = load_file(hf / "model.safetensors")
        before = {key: tensor.to(torch.bfloat16) if dtype == "bf16" else tensor for key, tensor in before.items()}
        for text in layouts.split():
            back = convert("mg2hf", mg.with_name(f"{mg.name}-{text}"), tmp_path / f"{name}-{text}-back")
            check_same(before, read_hf(back), hf)

"""HF -> Megatron -> every layout -> HF: bitwise what it was, for all models, in bf16 and fp32; scores stay, too."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from models.registry import family
from models.weight_table import find_spelling
from tests import tiny
from tests.conftest import ROOT
from tests.forked import run_ranks
from tests.tiny import idefics3, llava, qwen2_5_vl, qwen3_vl
from tests.tiny.random_policy import FAMILIES, build_random_policy
from tests.toolkits.checkpoints import convert, read_hf
from tests.training.critics.test_score import score

NAMES = ("idefics2", "llava", "llava_next", "idefics3", "qwen2_5_vl", "qwen3_vl")


def build(name: str, folder: Path) -> Path:
    if name == "idefics2":
        return tiny.build_policy(folder, vocab_size=500, heads=4, kv_heads=4, tied=False)
    if name == "idefics3":
        return idefics3.build_policy(folder, num_key_value_heads=4)
    if name in ("qwen2_5_vl", "qwen3_vl"):
        make = {"qwen2_5_vl": qwen2_5_vl, "qwen3_vl": qwen3_vl}[name].build_policy
        return make(folder, num_key_value_heads=4)
    return llava.build_policy(folder, is_next=name == "llava_next", kv_heads=4)


def check_same(before: dict[str, torch.Tensor], after: dict[str, torch.Tensor], folder: Path) -> None:
    """Released names and today's count as one."""
    assert len(before) == len(after)
    for name, tensor in after.items():
        spelling = find_spelling(name, family(folder).spellings, before)
        assert spelling and tensor.dtype == before[spelling].dtype and tensor.equal(before[spelling]), name


def reshard(folders: list[Path], layouts: str, num_ranks: int) -> None:
    """Load each Megatron folder in each layout and save it again as FOLDER-LAYOUT."""
    worker = ROOT / "tests" / "toolkits" / "reshard_worker.py"
    run_ranks(num_ranks, worker, ",".join(map(str, folders)), *layouts.split(), timeout_s=7000)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
@pytest.mark.parametrize(("num_ranks", "layouts"), [(2, "1x1 2x1 1x2"), (8, "4x1 2x2 4x2")])
def test_every_layout_gives_the_same_bits(tmp_path: Path, num_ranks: int, layouts: str, dtype: str) -> None:
    folders = {name: build(name, tmp_path / name) for name in NAMES}
    megatron = [convert("hf2mg", hf, tmp_path / f"{name}-mg", dtype=dtype) for name, hf in folders.items()]
    reshard(megatron, layouts, num_ranks)
    for (name, hf), mg in zip(folders.items(), megatron, strict=True):
        before = load_file(hf / "model.safetensors")
        before = {key: tensor.to(torch.bfloat16) if dtype == "bf16" else tensor for key, tensor in before.items()}
        for text in layouts.split():
            back = convert("mg2hf", mg.with_name(f"{mg.name}-{text}"), tmp_path / f"{name}-{text}-back")
            check_same(before, read_hf(back), hf)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", FAMILIES)
def test_random_sizes_come_back_through_uneven_stages(tmp_path: Path, name: str) -> None:
    """TP2, three layers on the first of two stages; in the folder of `mg2hf` nothing is another bit."""
    folders = [build_random_policy(tmp_path / f"hf{seed}", name, seed) for seed in range(1, 5)]
    megatron = [convert("hf2mg", hf, hf.with_name(f"{hf.name}-mg"), dtype="fp32") for hf in folders]
    reshard(megatron, "2x2x3 1x2x3", num_ranks=4)
    for hf, mg in zip(folders, megatron, strict=True):
        for text in ("2x2x3", "1x2x3"):
            back = convert("mg2hf", mg.with_name(f"{mg.name}-{text}"), hf.with_name(f"{hf.name}-{text}"))
            check_same(read_hf(hf), read_hf(back), hf)


TOLERANCE = {"fp32": 1e-4, "bf16": 0.1}
"""Of a token's log-probability: ranks add up their parts in another order. A wrong weight moves it by more than 1."""


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
@pytest.mark.parametrize("name", NAMES)
def test_another_layout_scores_alike(tmp_path: Path, name: str, dtype: str) -> None:
    """What was saved at 2x2 is loaded at 4x1 and 1x2, tensor by pipeline parallel, and scored as a user scores."""
    samples = [tiny.sample(index, num_steps=1 + index % 2, with_images=index != 3) for index in range(4)]
    shards = tiny.build_dataset(tmp_path / "shards", samples)
    released = convert("hf2mg", build(name, tmp_path / name), tmp_path / "mg", dtype=dtype)
    reshard([released], "2x2", num_ranks=4)
    options = {"pr": dtype, "token_logprobs": "true"}
    expected = score(released, shards, tmp_path / "1x1.parquet", **options)
    for tp, pp in ((4, 1), (1, 2)):
        rows = score(tmp_path / "mg-2x2", shards, tmp_path / f"{tp}x{pp}.parquet", tp=tp, pp=pp, **options)
        assert [row["id"] for row in rows] == [row["id"] for row in expected]
        difference = max(abs(a - b) for a, b in zip(logprobs(rows), logprobs(expected), strict=True))
        print(f"{name} {dtype}, saved at 2x2, loaded at {tp}x{pp}: log-probabilities differ by {difference:.1e}")
        assert difference < TOLERANCE[dtype]


def logprobs(rows: list[dict[str, Any]]) -> list[float]:
    """Of every token of every reply."""
    return [logprob for row in rows for logprob in row["token_logprobs"]]

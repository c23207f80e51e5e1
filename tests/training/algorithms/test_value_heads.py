"""A critic on the model computes in every layout what Hugging Face's model with the same heads computes: real torchrun,
real gloo. In all layouts: `bash tests/run.sh --slow tests/training/algorithms/test_value_heads.py`."""

import json
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.forked import run_ranks

TOLERANCE = 1e-5
FEW = ("cp2,packed", "tp2,pp2,sp")
MORE = ("tp1", "tp2", "pp2", "cp2", "packed", "do,overlap", "pp2,do,overlap,packed", "tp2,cp2,sp,packed", "pp2,vpp2")
Differences = dict[str, dict[str, float]]


def measure(policy: Path, megatron: Path, folder: Path, layouts: tuple[str, ...]) -> Differences:
    worker = ROOT / "tests" / "training" / "value_heads_worker.py"
    run_ranks(4, worker, folder / "out.json", policy, megatron, *layouts, timeout_s=1700)
    return json.loads((folder / "out.json").read_text())


def check(found: Differences, layout: str) -> None:
    assert found["largest gradient"]["model"] > 0.01 and found["largest gradient"]["heads"] > 0.01
    assert found[layout].pop("initial") == 0
    assert {name: error for name, error in found[layout].items() if error >= TOLERANCE} == {}


def test_loss_and_gradients_agree(policy: Path, megatron: Path, tmp_path: Path) -> None:
    found = measure(policy, megatron, tmp_path, FEW)
    for layout in FEW:
        check(found, layout)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_loss_and_gradients_agree_in_every_layout(policy: Path, megatron: Path, tmp_path: Path) -> None:
    found = measure(policy, megatron, tmp_path, MORE)
    for layout in MORE:
        check(found, layout)

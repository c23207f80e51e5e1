"""A checkpoint of the distributed optimizer takes each rank its share of host memory, over real ranks."""

import json
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.forked import run_ranks

NUM_RANKS = 4
LARGEST = 32128 * 512
"""Parameters of the largest one, the embedding."""


@pytest.mark.timeout(600)
def test_every_rank_gathers_a_part_of_the_state_and_finds_it_again(tmp_path: Path) -> None:
    output, folder = tmp_path / "out.json", tmp_path / "checkpoint"
    folder.mkdir()
    run_ranks(NUM_RANKS, ROOT / "tests" / "training" / "save_worker.py", output, folder, "shared")
    saved = json.loads(output.read_text())
    assert saved["same"]
    # Megatron's own way takes 27 bytes a parameter on every rank.
    assert sum(saved["added_bytes"]) < 12 * saved["parameters"] + NUM_RANKS * 3 * 12 * LARGEST
    assert max(saved["added_bytes"]) < 8 * saved["parameters"]

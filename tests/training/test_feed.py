"""Who tokenizes what: real ranks over gloo, counted in the real encoder, in several layouts."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import tiny
from tests.conftest import ROOT

LAYOUTS = {
    "DP1": (1, 1, 1),
    "DP2 x TP2": (2, 1, 2),
    "DP4": (1, 1, 4),
    "DP2": (1, 1, 2),
    "TP2": (2, 1, 1),
    "PP2": (1, 2, 1),
}
"""(TP, PP, DP)"""
LONGER = ("DP4", "DP2", "TP2", "PP2")
STEPS, BATCH = 5, 8


def run(layout: str, policy: Path, shards: Path, folder: Path, num_workers: int) -> list[dict[str, Any]]:
    """What each rank of `tests/training/feed_worker.py` reports."""
    tensor, pipeline, data = LAYOUTS[layout]
    folder.mkdir()
    job = {"policy": str(policy), "shards": str(shards), "out": str(folder), "tp": tensor, "pp": pipeline}
    job |= {"num_workers": num_workers, "steps": STEPS, "batch": BATCH}
    ranks = str(tensor * pipeline * data)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks]
    done = subprocess.run(
        [*command, "-m", "tests.training.feed_worker", json.dumps(job)],
        env=tiny.environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(int(ranks))]


@pytest.fixture(scope="module")
def alone(policy: Path, shards: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run("DP1", policy, shards, tmp_path_factory.mktemp("alone") / "out", 0)[0]


def test_one_rank_tokenizes_every_sample_once(alone: dict[str, Any]) -> None:
    assert alone["tokenized"] == STEPS * BATCH
    assert len(alone["steps"]) == STEPS and all(len(step["keys"]) == BATCH for step in alone["steps"])


@pytest.mark.parametrize("layout", ["DP2 x TP2", *(pytest.param(layout, marks=pytest.mark.slow) for layout in LONGER)])
def test_a_replica_tokenizes_its_share_once_and_the_order_is_the_same(
    layout: str, alone: dict[str, Any], policy: Path, shards: Path, tmp_path: Path
) -> None:
    reports = run(layout, policy, shards, tmp_path / "out", 0)
    data = LAYOUTS[layout][2]
    readers = [report for report in reports if report["reads"]]
    assert len(readers) == data
    assert [report["tokenized"] for report in readers] == [STEPS * BATCH // data] * data
    assert sum(report["tokenized"] for report in reports) == STEPS * BATCH  # the other ranks: none
    for number, expected in enumerate(alone["steps"]):
        seen = [report["steps"][number] for report in reports]
        assert all(step["keys"] == expected["keys"] for step in seen)
        by_replica = {report["replica"]: step["own"] for report, step in zip(reports, seen, strict=True)}
        assert all(step["own"] == by_replica[r["replica"]] for r, step in zip(reports, seen, strict=True))
        everything = {key: digest for step in seen for key, digest in step["tokens"].items()}
        assert everything == expected["tokens"]  # the very tokens and loss masks, each sample on one replica
        assert sorted(key for own in by_replica.values() for key in own) == sorted(expected["keys"])


def test_loader_processes_and_threads_change_nothing_but_the_order(policy: Path, shards: Path, tmp_path: Path) -> None:
    """Prefetching ranks stay in step, end cleanly, and agree whatever their layout."""
    one, *_ = run("DP1", policy, shards, tmp_path / "one", 2)
    two = run("DP2 x TP2", policy, shards, tmp_path / "two", 2)
    for number, expected in enumerate(one["steps"]):
        assert all(report["steps"][number]["keys"] == expected["keys"] for report in two)
        assert {k: d for report in two for k, d in report["steps"][number]["tokens"].items()} == expected["tokens"]
        units = {report["replica"]: report["steps"][number]["units"] for report in two}
        assert sum(units.values()) == expected["units"]
        encoded = sum(report["steps"][number]["encoded"] for report in two)
        assert encoded == expected["encoded"] == expected["units"]  # every image once

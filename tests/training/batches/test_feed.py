"""Who tokenizes what: real ranks over gloo, counted in the real encoder, in several layouts."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.forked import run_ranks

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


Reports = dict[int, list[dict[str, Any]]]
"""By number of loader processes: what each rank of `tests/training/feed_worker.py` reports."""


def run(layout: str, policy: Path, shards: Path, folder: Path, *num_workers: int) -> Reports:
    tensor, pipeline, data = LAYOUTS[layout]
    job = {"policy": str(policy), "shards": str(shards), "out": str(folder), "tp": tensor, "pp": pipeline}
    job |= {"num_workers": num_workers, "steps": STEPS, "batch": BATCH}
    num_ranks = tensor * pipeline * data
    run_ranks(num_ranks, "-m", "tests.training.feed_worker", json.dumps(job))
    return {
        number: [json.loads((folder / f"{number}-rank{rank}.json").read_text()) for rank in range(num_ranks)]
        for number in num_workers
    }


@pytest.fixture(scope="module")
def one(policy: Path, shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Reports:
    return run("DP1", policy, shards, tmp_path_factory.mktemp("one"), 0, 2)


@pytest.fixture(scope="module")
def four(policy: Path, shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Reports:
    return run("DP2 x TP2", policy, shards, tmp_path_factory.mktemp("four"), 0, 2)


@pytest.fixture(scope="module")
def alone(one: Reports) -> dict[str, Any]:
    return one[0][0]


def test_one_rank_tokenizes_every_sample_once(alone: dict[str, Any]) -> None:
    assert alone["tokenized"] == STEPS * BATCH
    assert len(alone["steps"]) == STEPS and all(len(step["keys"]) == BATCH for step in alone["steps"])


def test_a_replica_tokenizes_its_share_once_and_the_order_is_the_same(alone: dict[str, Any], four: Reports) -> None:
    check(alone, four[0], "DP2 x TP2")


@pytest.mark.slow
@pytest.mark.parametrize("layout", LONGER)
def test_other_layouts_do_the_same(
    layout: str, alone: dict[str, Any], policy: Path, shards: Path, tmp_path: Path
) -> None:
    check(alone, run(layout, policy, shards, tmp_path, 0)[0], layout)


def check(alone: dict[str, Any], reports: list[dict[str, Any]], layout: str) -> None:
    """Each replica tokenizes its share, and all together see what one rank sees alone."""
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


def test_loader_processes_and_threads_change_nothing_but_the_order(one: Reports, four: Reports) -> None:
    """Prefetching ranks stay in step, end cleanly, and agree whatever their layout."""
    [reader], two = one[2], four[2]
    for number, expected in enumerate(reader["steps"]):
        assert all(report["steps"][number]["keys"] == expected["keys"] for report in two)
        assert {k: d for report in two for k, d in report["steps"][number]["tokens"].items()} == expected["tokens"]
        units = {report["replica"]: report["steps"][number]["units"] for report in two}
        assert sum(units.values()) == expected["units"]
        encoded = sum(report["steps"][number]["encoded"] for report in two)
        assert encoded == expected["encoded"] == expected["units"]  # every image once

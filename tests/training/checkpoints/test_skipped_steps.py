"""A step whose gradient breaks, within a real run: the weights stay as they were, it is said, and training goes on."""

import json
from pathlib import Path
from typing import Any

import pytest

from data.shards.shard import Sample, ShardWriter, write_manifest
from tests import tiny
from tests.training.script import ForkedRun
from toolkits.shards.energon_index import write_energon_index

TRAIN, VALIDATION = "elcano-000000.tar", "elcano-val-000000.tar"
EPOCH, STEPS = 12, 36


def weighted(index: int, weight: float) -> Sample:
    plain = tiny.sample(index)
    return Sample(plain.id, plain.conversations, plain.images, {"weight": weight})


@pytest.fixture(scope="module")
def shards_with_outliers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two of twelve samples weigh so much that their gradient is a spike, or overflows; two more are held out."""
    folder = tmp_path_factory.mktemp("outliers")
    outliers = [weighted(100, 1e5), weighted(101, 1e30)]
    content = {
        TRAIN: [*outliers, *map(tiny.sample, range(EPOCH - 2))],
        VALIDATION: [tiny.sample(200), tiny.sample(201)],
    }
    entries = []
    for name, samples in content.items():
        writer = ShardWriter(folder / name)
        for sample in samples:
            writer.add(sample)
        entries.append({**writer.close(), **({"split": "val"} if name == VALIDATION else {})})
    write_manifest(folder, entries, source={})
    write_energon_index(folder, [TRAIN], [VALIDATION])
    return folder


def strict(line: str) -> dict[str, Any]:
    """JSON as every other reader understands it: without Python's NaN and Infinity."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON: {line}")

    return json.loads(line, parse_constant=refuse)


def test_broken_steps_leave_the_weights_alone(shards_with_outliers: Path, megatron: Path, tmp_path: Path) -> None:
    """Whether the weights changed is told by the validation loss, to the bit."""
    options = {"tp": 1, "batch_size": 1, "global_batch_size": 1, "train_iters": STEPS, "save_interval": STEPS}
    run = ForkedRun(shards_with_outliers, megatron, tmp_path, **options, lr_schedule="constant", eval_interval=1)
    output = run.finish()
    lines = [strict(line) for line in run.metrics_file.read_text().splitlines()]
    skipped = {line["iteration"]: line["skipped"] for line in lines if "skipped" in line}
    validation = {line["iteration"]: line["validation_loss"] for line in lines if "validation_loss" in line}
    assert sorted(skipped) == sorted(validation) == list(range(1, STEPS + 1))
    reasons = [reason for reason in skipped.values() if reason]
    assert sum("gradient norm of inf" in reason for reason in reasons) == STEPS // EPOCH
    assert sum("more than 50 times the usual" in reason for reason in reasons) in (1, 2)  # once 20 steps are known
    assert output.count("weights unchanged, because of") == len(reasons)
    for step in range(2, STEPS + 1):
        assert (validation[step] == validation[step - 1]) == (skipped[step] is not None), f"step {step}"
    assert validation[STEPS] < validation[1] - 0.1

"""An algorithm is one more file in training/algorithms/: nothing else changes, and train_idefics2.sh trains with it.

The repository's copy is made of links, but for that folder. The loss of the first step is computed by hand from
Hugging Face's log-probabilities, whatever the layout.
"""

import json
import math
import shutil
import subprocess
from pathlib import Path

import pyarrow
import pytest

from data.shards.columns import write_columns
from data.shards.shard import Sample
from tests import tiny
from tests.conftest import ROOT
from tests.training.critics.test_score import reference
from tests.training.own_algorithms import log_ratio

BETA, CLIP = 0.5, 0.2
NUM_SAMPLES = 8
TOKENS = ("behavior_logprobs", "reference_logprobs")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything as it is, and one file more."""
    copy = tmp_path_factory.mktemp("repository")
    for path in ROOT.iterdir():
        if path.name not in ("training", "runs", ".git"):
            (copy / path.name).symlink_to(path)
    shutil.copytree(ROOT / "training", copy / "training", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(log_ratio.__file__, copy / "training" / "algorithms")
    return copy


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Their json has the advantages, of both signs."""
    plain = [tiny.sample(index, num_steps=1 + index % 2, num_words=10 + 8 * index) for index in range(NUM_SAMPLES)]
    samples = [
        Sample(s.id, s.conversations, s.images, {"advantage": 1.0 - 0.4 * index, "weight": 9.0})
        for index, s in enumerate(plain)
    ]
    return tiny.build_dataset(tmp_path_factory.mktemp("advantages") / "shards", samples)


@pytest.fixture(scope="module")
def columns(policy: Path, shards: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, float]:
    """(two files, the loss of the first step): weights in one, log-probabilities in the other."""
    folder = tmp_path_factory.mktemp("columns")
    weights, lists, total = [], [], 0.0
    for index, (key, logprobs) in enumerate(sorted(reference(policy, shards).items())):
        weight, advantage = float(index % 3), 1.0 - 0.4 * index
        behavior = [value + 0.4 * math.sin(number + index) for number, value in enumerate(logprobs)]
        referred = [value - 0.3 * math.cos(number * index) for number, value in enumerate(logprobs)]
        weights.append({"id": key, "weight": weight})
        lists.append({"id": key, **dict(zip(TOKENS, (behavior, referred), strict=True))})
        count = len(logprobs)
        ratios = [math.exp(new - old) for new, old in zip(logprobs, behavior, strict=True)]
        gains = [min(r * advantage, min(max(r, 1 - CLIP), 1 + CLIP) * advantage) for r in ratios]
        log_ratio_ = sum(new - old for new, old in zip(logprobs, referred, strict=True)) / count
        total += weight * (-sum(gains) / count + (BETA * log_ratio_ - advantage) ** 2)
    schema = [pyarrow.schema([("id", pyarrow.string()), ("weight", pyarrow.float64())])]
    schema += [
        pyarrow.schema([("id", pyarrow.string()), *((name, pyarrow.list_(pyarrow.float32())) for name in TOKENS)])
    ]
    for name, rows, kind in zip(("weights", "logprobs"), (weights, lists), schema, strict=True):
        write_columns(folder / f"{name}.parquet", [rows[:3], rows[3:]], kind, {})
    files = ",".join(str(folder / f"{name}.parquet") for name in ("weights", "logprobs"))
    return files, total / sum(row["weight"] for row in weights)


def run(
    repository: Path, shards: Path, megatron: Path, output: Path, files: str, **options: object
) -> subprocess.CompletedProcess[str]:
    flags = {
        **{"dataset_path": shards, "pretrain_checkpoint_path": megatron, "output_basepath": output, "run_name": "run"},
        **{"pr": "fp32", "tp": 1, "ac": "none", "num_workers": 0, "seq_len": 1024, "global_batch_size": NUM_SAMPLES},
        **{"train_iters": 3, "lr": 1e-3, "lr_warmup_iters": 0, "algorithm": "log_ratio", "column_files": files},
        **{"algorithm_options": f"beta={BETA},clip={CLIP}", "weight_decay": 0.0, "lr_schedule": "constant", **options},
    }
    arguments = [text for name, value in flags.items() for text in (f"--{name}", str(value))]
    command = ["bash", str(repository / "training" / "train_idefics2.sh"), *arguments]
    return subprocess.run(command, env=tiny.environment(), capture_output=True, text=True, timeout=900, cwd=output)


LONGER = [pytest.mark.slow, pytest.mark.timeout(900)]
PACKED = {"packing": "true", "batch_size": 1}
LAYOUTS = [
    {"batch_size": 2},
    *(
        pytest.param(options, marks=LONGER)
        for options in (
            {"tp": 2, "batch_size": 2},
            {"cp": 2, **PACKED},
            {"pp": 2, **PACKED},
            {"dp": 2, "do": "true"},
            {"tp": 2, "cp": 2, "sp": "true"},
        )
    ),
]


@pytest.mark.parametrize("options", LAYOUTS, ids=str)
def test_one_file_more_trains_with_its_columns(
    repository: Path,
    shards: Path,
    megatron: Path,
    columns: tuple[str, float],
    tmp_path: Path,
    options: dict[str, object],
) -> None:
    files, expected = columns
    done = run(repository, shards, megatron, tmp_path, files, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = (tmp_path / "log" / "run" / "metrics.jsonl").read_text().splitlines()
    losses = [json.loads(line)["loss"] for line in lines]
    assert losses[0] == pytest.approx(expected, abs=2e-5)
    assert len(losses) == 3 and losses[2] < losses[0] - 0.01


def test_columns_that_are_not_there_are_refused_before_any_rank_starts(
    repository: Path, shards: Path, megatron: Path, columns: tuple[str, float], tmp_path: Path
) -> None:
    weights = columns[0].split(",")[0]
    done = run(repository, shards, megatron, tmp_path, weights)
    assert done.returncode == 2
    assert (
        f"needs column reference_logprobs; no file of COLUMN_FILES ({weights}) has it" in done.stderr.splitlines()[-1]
    )
    assert not any(tmp_path.iterdir())

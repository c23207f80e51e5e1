"""A tiny policy, its Megatron form and a small data set, made once."""

import json
import subprocess
from pathlib import Path

import pytest

from tests import tiny
from tests.conftest import ROOT


def convert(
    direction: str, load_path: Path, save_path: Path, dtype: str = "fp32", model: str = "idefics2", **flags: object
) -> Path:
    """Through the script a user runs."""
    script = ROOT / "toolkits" / "model_checkpoints_convertor" / model / f"{direction}.sh"
    flags = {"load_path": load_path, "save_path": save_path, "dtype": dtype, **flags}
    arguments = [text for name, value in flags.items() for text in (f"--{name}", str(value))]
    subprocess.run(["bash", str(script), *arguments], check=True, env=tiny.environment())
    return save_path


def train(
    model: str, shards: Path, megatron: Path, output: Path, variables: dict[str, str] | None = None, **options: object
) -> list[float]:
    """A run of `train_<model>.sh`, or of train.sh, called "run", as a user starts it; its losses."""
    flags = {
        **{"dataset_path": shards, "pretrain_checkpoint_path": megatron, "output_basepath": output, "run_name": "run"},
        **{"tp": 2, "pr": "fp32", "batch_size": 2, "num_workers": 0, "seq_len": 2048, "ac": "none", **options},
    }
    arguments = [text for name, value in flags.items() for text in (f"--{name}", str(value))]
    script = f"train_{model}.sh" if model else "train.sh"
    command = ["bash", str(ROOT / "training" / script), *arguments]
    environment = tiny.environment(**variables or {})
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = (output / "log" / "run" / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["loss"] for line in lines]


@pytest.fixture(scope="session")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tied embeddings, grouped-query attention."""
    return tiny.build_policy(tmp_path_factory.mktemp("policy") / "hf")


@pytest.fixture(scope="session")
def megatron(policy: Path) -> Path:
    return convert("hf2mg", policy, policy.with_name("megatron"))


@pytest.fixture(scope="session")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 samples of 1 to 3 steps, every fifth without an image."""
    return tiny.build_dataset(tmp_path_factory.mktemp("data") / "shards")

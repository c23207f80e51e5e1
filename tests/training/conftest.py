"""A tiny policy, its Megatron form and a small data set, made once."""

import json
import subprocess
from pathlib import Path

import pytest

from tests import forked, tiny
from tests.conftest import ROOT
from tests.toolkits import checkpoints


def converted(direction: str, load_path: Path, save_path: Path, dtype: str = "fp32", **flags: object) -> Path:
    """As the script does it, in this process."""
    return checkpoints.convert(direction, load_path, save_path, dtype=dtype, **flags)


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
    """A run of `train_<model>.sh`, or of train.sh, called "run"; its losses. Its processes are forks, but for one with
    `variables` of its own, which starts as users start it."""
    flags = {
        **{"dataset_path": shards, "pretrain_checkpoint_path": megatron, "output_basepath": output, "run_name": "run"},
        **{"tp": 2, "pr": "fp32", "batch_size": 2, "num_workers": 0, "seq_len": 2048, "ac": "none", **options},
    }
    if variables is None:
        forked.run_command("training.launch.command", flags, MODEL_TYPE=model)
    else:
        script = ROOT / "training" / (f"train_{model}.sh" if model else "train.sh")
        process = tiny.start_script(script, flags, **variables)
        said, _ = process.communicate(timeout=900)
        assert process.returncode == 0, said
    lines = (output / "log" / "run" / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["loss"] for line in lines]


@pytest.fixture(scope="session")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tied embeddings, grouped-query attention."""
    return tiny.build_policy(tmp_path_factory.mktemp("policy") / "hf")


@pytest.fixture(scope="session")
def megatron(policy: Path) -> Path:
    return converted("hf2mg", policy, policy.with_name("megatron"))


@pytest.fixture(scope="session")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 samples of 1 to 3 steps, every fifth without an image."""
    return tiny.build_dataset(tmp_path_factory.mktemp("data") / "shards")

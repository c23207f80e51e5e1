"""A tiny policy, its Megatron form and a small data set, made once."""

import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.training import tiny


def convert(direction: str, load_path: Path, save_path: Path, dtype: str = "fp32") -> Path:
    """Through the script a user runs."""
    script = ROOT / "toolkits" / "model_checkpoints_convertor" / "idefics2" / f"{direction}.sh"
    arguments = ["--load_path", str(load_path), "--save_path", str(save_path), "--dtype", dtype]
    subprocess.run(["bash", str(script), *arguments], check=True, env=tiny.environment())
    return save_path


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

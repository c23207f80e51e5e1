"""The mean of checkpoints: exact, of one model only, complete or not there."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from common.errors import UserError
from toolkits.average_checkpoints import Config, main


def write(folder: Path, bias: float, rows: int = 3, model_type: str = "idefics2") -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
    (folder / "tokenizer.json").write_text(folder.name)
    weights = {
        "a": torch.full((rows, 2), bias),
        "b": torch.full((4,), bias, dtype=torch.bfloat16),
        "n": torch.tensor([int(bias)]),
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def test_the_mean_is_exact_and_all_else_is_the_last_ones(tmp_path: Path) -> None:
    policies = tuple(write(tmp_path / str(bias), bias) for bias in (1.0, 2.0, 6.0))
    main(Config(policies, tmp_path / "mean"))
    main(Config(policies[:2], tmp_path / "mean-of-two", shares=(0.25, 0.75), max_shard_size_gb=1e-8))
    found = load_file(tmp_path / "mean" / "model.safetensors")
    assert found["a"].tolist() == [[3.0, 3.0]] * 3 and found["n"].tolist() == [6]
    assert found["b"].dtype is torch.bfloat16 and found["b"].tolist() == [3.0] * 4
    assert (tmp_path / "mean" / "tokenizer.json").read_text() == "6.0"
    files = sorted((tmp_path / "mean-of-two").glob("model-*.safetensors"))
    parts = {name: value for file in files for name, value in load_file(file).items()}
    assert len(files) > 1 and parts["a"].tolist() == [[1.75, 1.75]] * 3
    main(Config(policies[1:], tmp_path / "mean-of-two"))  # one file in place of several
    assert [path.name for path in (tmp_path / "mean-of-two").glob("*safetensors*")] == ["model.safetensors"]


@pytest.mark.parametrize("differs", [{"rows": 4}, {"model_type": "llava"}], ids=["shapes", "families"])
def test_other_models_have_no_mean(differs: dict, tmp_path: Path) -> None:
    policies = (write(tmp_path / "one", 1.0), write(tmp_path / "other", 2.0, **differs))
    with pytest.raises(UserError, match="only checkpoints of one model have a mean"):
        main(Config(policies, tmp_path / "mean"))
    assert not (tmp_path / "mean").exists()


@pytest.mark.parametrize("shares", [(0.5,), (0.5, 0.6)])
def test_shares_that_are_none_are_refused(shares: tuple[float, ...], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--shares"):
        Config((tmp_path, tmp_path), tmp_path, shares=shares)

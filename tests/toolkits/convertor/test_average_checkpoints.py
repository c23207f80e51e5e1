"""The mean of checkpoints: exact, of one model only, complete or not there."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from common.errors import UserError
from tests.tiny import text_only
from toolkits.average_checkpoints import Config, main

HEAD = "lm_head.weight"


def write(folder: Path, value: float, kind: str = "llama", **options: Any) -> Path:
    """A tiny model whose norms are fp32, all else bf16, of one value everywhere."""
    text_only.build_policy(folder, kind, layers=1, **options)
    weights = load_file(folder / "model.safetensors")
    for name, tensor in weights.items():
        dtype = torch.float32 if "norm" in name else torch.bfloat16
        weights[name] = torch.full_like(tensor, value, dtype=dtype)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "chat_template.jinja").write_text(folder.name)
    return folder


def test_the_mean_is_exact_and_all_else_is_the_last_ones(tmp_path: Path) -> None:
    policies = tuple(write(tmp_path / str(value), value) for value in (1.0, 2.0, 6.0))
    main(Config(policies, tmp_path / "mean"))
    main(Config(policies[:2], tmp_path / "mean-of-two", shares=(0.25, 0.75), max_shard_size_gb=1e-5))
    found, names = load_file(tmp_path / "mean" / "model.safetensors"), load_file(policies[0] / "model.safetensors")
    assert found.keys() == names.keys() and all((tensor == 3.0).all() for tensor in found.values())
    assert found["model.norm.weight"].dtype is torch.float32 and found[HEAD].dtype is torch.bfloat16
    assert (tmp_path / "mean" / "chat_template.jinja").read_text() == "6.0"
    files = sorted((tmp_path / "mean-of-two").glob("model-*.safetensors"))
    parts = {name: value for file in files for name, value in load_file(file).items()}
    assert len(files) > 1 and (parts["model.norm.weight"] == 1.75).all()
    main(Config(policies[1:], tmp_path / "mean-of-two"))  # one file in place of several
    assert [path.name for path in (tmp_path / "mean-of-two").glob("*safetensors*")] == ["model.safetensors"]


@pytest.mark.parametrize("differs", [{"intermediate_size": 96}, {"kind": "qwen3"}], ids=["shapes", "families"])
def test_other_models_have_no_mean(differs: dict, tmp_path: Path) -> None:
    policies = (write(tmp_path / "one", 1.0), write(tmp_path / "other", 2.0, **differs))
    with pytest.raises(UserError, match="only checkpoints of one model have a mean"):
        main(Config(policies, tmp_path / "mean"))
    assert not (tmp_path / "mean").exists()


def test_what_the_reader_refuses_has_no_mean(tmp_path: Path) -> None:
    policies = (write(tmp_path / "one", 1.0), write(tmp_path / "other", 2.0))
    weights = load_file(policies[1] / "model.safetensors")
    weights[HEAD] = weights[HEAD].to(torch.int8)
    save_file(weights, policies[1] / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match="is quantized"):
        main(Config(policies, tmp_path / "mean"))


@pytest.mark.parametrize("shares", [(0.5,), (0.5, 0.6)])
def test_shares_that_are_none_are_refused(shares: tuple[float, ...], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--shares"):
        Config((tmp_path, tmp_path), tmp_path, shares=shares)

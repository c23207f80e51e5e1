"""What a smaller type cannot hold is counted and refused, unless it was asked for."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from common.errors import UserError
from models.checkpoint.narrowing import Narrowing
from tests.tiny import text_only
from toolkits.model_checkpoints_convertor.convert import Config, main

WEIGHT = "model.layers.0.mlp.down_proj.weight"


def policy_with(folder: Path, value: float) -> Path:
    """A language model of fp32 with one weight of this value."""
    text_only.build_policy(folder, "llama", layers=2)
    tensors = {name: tensor.float() for name, tensor in load_file(folder / "model.safetensors").items()}
    for tensor in tensors.values():
        tensor[(tensor.abs() < 1e-6) & (tensor != 0)] = 0  # which a random weight may be
    tensors[WEIGHT][0, 0] = value
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.mark.parametrize(
    ("value", "said"), [(1e5, "1 numbers become infinite and 0 zero"), (1e-9, "0 numbers become infinite and 1 zero")]
)
def test_a_weight_out_of_range_is_refused_unless_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture, value: float, said: str
) -> None:
    released, megatron = policy_with(tmp_path / "hf", value), tmp_path / "mg"
    convert = {"direction": "hf2mg", "load_path": released, "save_path": megatron, "dtype": "fp16"}
    with pytest.raises(UserError, match=rf"{said}, the first in .*\(float16\).*--out_of_range"):
        main(Config(**convert))
    assert not megatron.exists()
    if value > 1:
        with pytest.raises(UserError, match="--out_of_range any"):
            main(Config(**convert, out_of_range="to_zero"))
    main(Config(**convert, out_of_range="any"))
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("dtype", ["auto", "fp32", "bf16"])
def test_what_fits_is_not_spoken_of(tmp_path: Path, capsys: pytest.CaptureFixture, dtype: str) -> None:
    released = policy_with(tmp_path / "hf", 1e5)
    main(Config(direction="hf2mg", load_path=released, save_path=tmp_path / "mg", dtype=dtype))
    main(Config(direction="mg2hf", load_path=tmp_path / "mg", save_path=tmp_path / "out"))
    assert "infinite" not in capsys.readouterr().out
    assert load_file(tmp_path / "out" / "model.safetensors")[WEIGHT][0, 0].item() == pytest.approx(1e5, rel=0.01)


def test_mg2hf_refuses_too(tmp_path: Path) -> None:
    main(Config(direction="hf2mg", load_path=policy_with(tmp_path / "hf", -7e4), save_path=tmp_path / "mg"))
    with pytest.raises(UserError, match="1 numbers become infinite"):
        main(Config(direction="mg2hf", load_path=tmp_path / "mg", save_path=tmp_path / "out", dtype="fp16"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("change", [lambda t: t, lambda t: t.to(torch.bfloat16), lambda t: t * float("inf")])
def test_infinite_already_or_equal_is_no_loss(tmp_path: Path, change: Callable) -> None:
    narrowing = Narrowing()
    narrowing.round("w", change(torch.ones(4)), torch.float16)
    narrowing.check(tmp_path)

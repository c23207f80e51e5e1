"""--verify, --inspect and the look at the disk before anything is written."""

import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from common.errors import UserError
from tests import tiny
from tests.conftest import ROOT
from tests.tiny import llava
from tests.toolkits.checkpoints import IDEFICS2, build_idefics2, convert
from toolkits.model_checkpoints_convertor import convert as tool

CONVERTOR = ROOT / "toolkits" / "model_checkpoints_convertor"


def test_verify_compares_logits(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    """With the legacy layout, whose weights are put into Hugging Face's model: needs no Megatron."""
    policy = tiny.build_policy(tmp_path / "hf")
    flags = {"format": "legacy", "target_tensor_model_parallel_size": 2, "verify": True}
    convert("hf2mg", policy, tmp_path / "mg", **flags)
    assert "verify: logits of" in capsys.readouterr().out and (tmp_path / "mg").exists()
    wrong = load_file(policy / "model.safetensors")
    wrong["model.text_model.layers.0.mlp.up_proj.weight"].neg_()
    shutil.copytree(policy, tmp_path / "wrong")
    save_file(wrong, tmp_path / "wrong" / "model.safetensors", metadata={"format": "pt"})
    right = tool.write_legacy
    monkeypatch.setattr(tool, "write_legacy", lambda _, *rest: right(tool.open_checkpoint(tmp_path / "wrong"), *rest))
    with pytest.raises(UserError, match=r"verify: logits of .* differ by .*; not written"):
        convert("hf2mg", policy, tmp_path / "mg2", **flags)
    assert not (tmp_path / "mg2").exists()


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", ["idefics2", "llava", "llava_next"])
def test_every_models_scripts_verify_both_ways(tmp_path: Path, name: str) -> None:
    if name == "idefics2":
        tiny.build_policy(tmp_path / "hf")
    else:
        llava.build_policy(tmp_path / "hf", is_next=name == "llava_next")
    for script, load_path, save_path in (("hf2mg.sh", "hf", "mg"), (f"mg2hf_{name}.sh", "mg", "back")):
        command = ["bash", CONVERTOR / name / script, "--verify"]
        command += ["--load_path", tmp_path / load_path, "--save_path", tmp_path / save_path]
        done = subprocess.run(command, env=tiny.environment(), capture_output=True, text=True)
        assert done.returncode == 0 and "verify: logits of" in done.stdout, done.stdout + done.stderr


def test_inspect_says_what_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tensors = build_idefics2(tmp_path / "hf", torch.bfloat16)
    convert("hf2mg", tmp_path / "hf", tmp_path / "mg")
    convert("hf2mg", tmp_path / "hf", tmp_path / "legacy", format="legacy", target_tensor_model_parallel_size=2)
    num_bytes = sum(tensor.nbytes for tensor in tensors.values())
    expected = {
        "hf": (
            "hf: Hugging Face",
            "layers.*.self_attn.q_proj.weight",
            f"{len(tensors)} tensors",
            f"{num_bytes:,} bytes",
        ),
        "mg": ("mg/release: Megatron torch_dist", "self_attention.linear_qkv.weight", "[2, 128, 64] bfloat16"),
        "legacy": ("legacy/release: legacy Megatron, TP=2; rank 0:", "self_attention.query_key_value.weight"),
    }
    for name, texts in expected.items():
        tool.main(tool.Config(direction="hf2mg", load_path=tmp_path / name, inspect=True))
        printed = capsys.readouterr().out
        assert all(text in printed for text in (*texts, f"idefics2 {{'num_hidden_layers': {LAYERS}")), printed


LAYERS = IDEFICS2["text_config"]["num_hidden_layers"]


def test_a_full_disk_is_noticed_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_idefics2(tmp_path / "hf")
    convert("hf2mg", tmp_path / "hf", tmp_path / "mg")
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1_000_000))
    legacy = {"format": "legacy", "target_tensor_model_parallel_size": 2}
    for direction, source, flags in (("hf2mg", "hf", {}), ("hf2mg", "hf", legacy), ("mg2hf", "mg", {})):
        with pytest.raises(UserError, match=r"needs 0\.\d GB, but only 0\.0 GB are free; nothing was written"):
            convert(direction, tmp_path / source, tmp_path / "out", **flags)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["hf", "mg"]

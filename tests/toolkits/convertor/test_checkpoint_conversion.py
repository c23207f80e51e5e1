"""hf2mg and mg2hf as a user runs them: exact, complete or absent, and clear about what they are not given."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForImageTextToText, AutoProcessor

from common.errors import UserError
from tests import tiny
from tests.conftest import ROOT
from tests.toolkits.checkpoints import convert

SCRIPTS = ROOT / "toolkits" / "model_checkpoints_convertor" / "idefics2"


def start(script: str, load_path: Path, save_path: Path, **flags: object) -> subprocess.Popen:
    return tiny.start_script(SCRIPTS / script, {"load_path": load_path, "save_path": save_path, **flags})


def run(script: str, load_path: Path, save_path: Path, exit_code: int = 0, **flags: object) -> str:
    process = start(script, load_path, save_path, **flags)
    output = process.communicate()[0]
    assert process.returncode == exit_code, output
    return output


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two Hugging Face policies."""
    folder = tmp_path_factory.mktemp("policies")
    return {
        "tied": tiny.build_policy(folder / "tied"),
        "untied, 300 tokens": tiny.build_policy(folder / "untied", vocab_size=300, tied=False),
    }


@pytest.fixture(scope="module")
def megatron(policies: dict[str, Path]) -> dict[str, Path]:
    """The same as Megatron checkpoints, by the plain and by the published script."""
    folders = {}
    for script, (name, policy) in zip(("hf2mg.sh", "hf2mg_8A100.sh"), policies.items(), strict=True):
        folders[name] = policy.with_name(f"{policy.name}-megatron")
        said = run(script, policy, folders[name])
        assert said == f"{folders[name]}: a Megatron checkpoint; training takes it as PRETRAIN_CHECKPOINT_PATH\n"
    return folders


@pytest.mark.parametrize(("name", "script"), [("tied", "mg2hf.sh"), ("untied, 300 tokens", "mg2hf_idefics2.sh")])
def test_a_round_trip_is_exact(
    policies: dict[str, Path], megatron: dict[str, Path], tmp_path: Path, name: str, script: str
) -> None:
    assert run(script, megatron[name], tmp_path / "hf", max_shard_size_gb=0.0005).startswith(
        f"{tmp_path / 'hf'}: a Hugging"
    )
    before = load_file(policies[name] / "model.safetensors")
    files = sorted((tmp_path / "hf").glob("model-*.safetensors"))
    assert len(files) > 2
    after = {key: tensor for file in files for key, tensor in load_file(file).items()}
    assert before.keys() == after.keys() and all(before[key].equal(after[key]) for key in before)
    loaded = AutoModelForImageTextToText.from_pretrained(tmp_path / "hf")
    assert loaded.dtype == torch.float32
    assert all(loaded.state_dict()[key].equal(before[key]) for key in before)
    tokenizer = AutoProcessor.from_pretrained(tmp_path / "hf").tokenizer
    assert tokenizer.encode("Click [3]") == AutoProcessor.from_pretrained(policies[name]).tokenizer.encode("Click [3]")


def test_bf16_is_rounded_once_and_an_older_result_replaced(
    policies: dict[str, Path], megatron: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "hf").mkdir()
    (tmp_path / "hf" / "config.json").touch()
    (tmp_path / "hf" / "model-00002-of-00002.safetensors").touch()
    convert("mg2hf", megatron["tied"] / "release", tmp_path / "hf", dtype="bf16")
    before, after = (load_file(folder / "model.safetensors") for folder in (policies["tied"], tmp_path / "hf"))
    assert all(before[key].bfloat16().equal(after[key]) for key in before)
    assert json.loads((tmp_path / "hf" / "config.json").read_text())["dtype"] == "bfloat16"
    assert len(list((tmp_path / "hf").glob("*.safetensors"))) == 1


def test_a_killed_conversion_never_looks_complete(policies: dict[str, Path], tmp_path: Path) -> None:
    killed = start("hf2mg.sh", policies["tied"], tmp_path / "mg")
    while not list(tmp_path.glob(".mg.partial/release/*")) and killed.poll() is None:
        time.sleep(0.002)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert not (tmp_path / "mg").exists() or (tmp_path / "mg" / "latest_checkpointed_iteration.txt").exists()
    if not (tmp_path / "mg").exists():
        run("hf2mg.sh", policies["tied"], tmp_path / "mg", dtype="bf16")
    assert list(tmp_path.iterdir()) == [tmp_path / "mg"]


def test_an_output_layer_of_its_own_is_not_taken_for_tied(policies: dict[str, Path], tmp_path: Path) -> None:
    """transformers does not tie it, whatever config.json says. One that is the word embedding is left out."""
    folder = shutil.copytree(policies["tied"], tmp_path / "hf")
    weights = load_file(folder / "model.safetensors")
    head = weights["model.text_model.embed_tokens.weight"].clone()
    save_file({**weights, "lm_head.weight": head}, folder / "model.safetensors", metadata={"format": "pt"})
    convert("hf2mg", folder, tmp_path / "mg")
    save_file({**weights, "lm_head.weight": 2 * head}, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match=r"lm_head\.weight is not the word embedding"):
        convert("hf2mg", folder, tmp_path / "other")


def test_what_is_not_a_checkpoint_is_refused(policies: dict[str, Path], tmp_path: Path) -> None:
    other = tmp_path / "blip"
    other.mkdir()
    (other / "config.json").write_text('{"model_type": "blip"}')
    (other / "model.safetensors").touch()
    output = run("hf2mg.sh", tmp_path / "nowhere", tmp_path / "out", exit_code=2)
    assert "nowhere: no such checkpoint folder" in output and len(output.splitlines()) == 1
    for direction, load_path, message in (
        ("hf2mg", other, "model_type is 'blip'"),
        ("mg2hf", policies["tied"], "not a Megatron checkpoint"),
    ):
        with pytest.raises(UserError, match=message):
            convert(direction, load_path, tmp_path / "out")
        assert not (tmp_path / "out").exists()
    (other / "config.json").rename(other / "notes.json")
    with pytest.raises(UserError, match="exists and is no checkpoint"):
        convert("hf2mg", policies["tied"], other)

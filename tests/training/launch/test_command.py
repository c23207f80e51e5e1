"""The training scripts before they train: what is missing, published variables, help. Each answer is one line."""

import os
import subprocess
from pathlib import Path

import pytest

from common.errors import UserError
from models.registry import family
from tests import tiny
from tests.conftest import ROOT
from training.config import parse
from training.launch import demonstration
from training.launch.published_variables import check_model_size, check_published, not_needed
from training.memory.per_gpu import config_folder

OWN = "DATASET_PATH=SHARDS PRETRAIN_CHECKPOINT_PATH=MEGATRON_DIR OUTPUT_BASEPATH=DIR bash train_"


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*demonstration.PATHS, "HOST_NUM", "DRY_RUN", "MODEL_TYPE", "SEQ_LEN"):
        monkeypatch.delenv(name, raising=False)


def script(name: str, *flags: str, **variables: str) -> subprocess.CompletedProcess:
    """As typed in the script's own folder."""
    command = ["bash", name, *flags]
    environment = tiny.environment(**variables)
    return subprocess.run(command, cwd=ROOT / "training", env=environment, capture_output=True, text=True, timeout=250)


@pytest.mark.parametrize("model", ["llava", "llava_next"])
def test_without_a_shipped_policy_the_script_says_what_to_set(model: str) -> None:
    done = script(f"train_{model}.sh")
    [line] = done.stderr.splitlines()
    assert done.returncode == 2 and f"{OWN}{model}.sh" in line and f"{model}/hf2mg.sh" in line


def test_one_of_two_paths_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"PRETRAIN_CHECKPOINT_PATH .*hf2mg.sh.* is missing; both or neither: DATASET"):
        demonstration.is_wanted("idefics2", ["--dataset_path=x"])
    monkeypatch.setenv("PRETRAIN_CHECKPOINT_PATH", "x")
    with pytest.raises(UserError, match=r"DATASET_PATH .*convert_to_tar_data.py.* is missing; both or neither"):
        demonstration.is_wanted("idefics2", ["--tp", "1"])
    assert not demonstration.is_wanted("idefics2", ["--dataset-path", "y"])
    assert not demonstration.is_wanted("idefics2", ["--dry_run"])
    assert os.environ.pop("DATASET_PATH") == "none"  # which a dry run does not read


def test_nothing_set_demonstrates_on_one_host_only() -> None:
    assert demonstration.is_wanted("idefics2", ["--tp", "1"])
    assert demonstration.is_wanted("idefics2", ["--host_num", "1"])
    with pytest.raises(UserError, match="the demonstration runs on one host; for several set DATASET_PATH"):
        demonstration.is_wanted("idefics2", ["--host_num", "2"])


def test_a_dry_run_takes_the_one_released_shape_of_its_family(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in demonstration.PATHS:
        monkeypatch.setenv(name, "")
    assert not demonstration.is_wanted("idefics2", ["--dry_run"])
    assert os.environ["PRETRAIN_CHECKPOINT_PATH"] == "idefics2-8b"
    monkeypatch.setenv("PRETRAIN_CHECKPOINT_PATH", "")
    for model in ("qwen3_vl", ""):
        with pytest.raises(UserError, match=r"--dry_run needs PRETRAIN_CHECKPOINT_PATH: .* known shape.*qwen3-vl-8b"):
            demonstration.is_wanted(model, ["--dry_run"])


def test_flags_given_beside_the_demonstration_count_everywhere(tmp_path: Path) -> None:
    """Where its checkpoints and its policy go, and what its first line says."""
    output = tmp_path / "here"
    flags = {"output_basepath": output, "tp": 1, "train_iters": 1, "seq_len": 2048}
    done = script("train_idefics2.sh", *(word for name, value in flags.items() for word in (f"--{name}", str(value))))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "TP=1 on" in done.stdout and f"into {output}\n" in done.stdout
    assert {path.name for path in output.iterdir()} >= {"megatron", "checkpoint", "policy"}
    assert f"--model_name_or_path {output}/policy" in done.stdout


def test_published_values_run_and_others_are_refused_by_name() -> None:
    config = parse(["--dataset_path", "d", "--pretrain_checkpoint_path", "p"])
    published = {
        "MODEL_SIZE": "7B",
        "PAD_LEN": "8192",
        "EXTRA_VOCAB_SIZE": "128",
        "PAD_VOCAB_SIZE": "125",
        "FL": "true",
    }
    folder = config_folder(Path("idefics2-8b"))
    idefics2 = family(folder).read_config(folder)
    check_published(published, config)
    check_model_size(published, idefics2)
    with pytest.raises(UserError, match="PAD_LEN=4096, but SEQ_LEN=8192"):
        check_published({"PAD_LEN": "4096"}, config)
    with pytest.raises(UserError, match="FL=false: attention has no other"):
        check_published({"FL": "false"}, config)
    with pytest.raises(
        UserError, match="MODEL_SIZE=13B has 40 layers of width 5120, but this checkpoint has 32 of 4096"
    ):
        check_model_size({"MODEL_SIZE": "13B"}, idefics2)
    with pytest.raises(UserError, match="MODEL_SIZE=8B: known are 7B, 13B, 70B"):
        check_model_size({"MODEL_SIZE": "8B"}, idefics2)


def test_what_is_not_needed_is_said_by_name() -> None:
    remark = not_needed({"MEGATRON_PATCH_PATH": "/x", "EXTRA_VOCAB_SIZE": "128", "PAD_VOCAB_SIZE": "125"})
    assert all(
        f"{name} is not needed" in remark for name in ("MEGATRON_PATCH_PATH", "EXTRA_VOCAB_SIZE", "PAD_VOCAB_SIZE")
    )
    assert not_needed({}) == ""


@pytest.mark.parametrize("name", ["train_idefics2.sh", "train_llava.sh", "score.sh"])
def test_help_says_the_scripts_own_name_and_nothing_it_gives_itself(name: str) -> None:
    said = script(name, "--help").stdout
    assert said.startswith(f"usage: {name} ") and "DATASET_PATH=DIR" in said
    assert "model_type" not in said.lower()


def test_a_python_without_the_packages_is_one_line() -> None:
    done = script("train_idefics2.sh", PYTHON="/bin/false")
    [line] = done.stderr.splitlines()
    assert done.returncode == 2 and f"bash {ROOT}/install.sh && source {ROOT}/.venv/bin/activate" in line


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"PYTHON": "/given", "VIRTUAL_ENV": "active"}, "/given"),
        ({"VIRTUAL_ENV": "active"}, "active/bin/python"),
        ({}, ".venv/bin/python"),
    ],
)
def test_which_python_a_script_takes(variables: dict[str, str], expected: str, tmp_path: Path) -> None:
    """The one that is set, an active environment's, the repository's."""
    for folder in ("active", ".venv"):
        (tmp_path / folder / "bin").mkdir(parents=True)
        (tmp_path / folder / "bin" / "python").write_text("#!/bin/sh\n")
        (tmp_path / folder / "bin" / "python").chmod(0o755)
    (tmp_path / "common").mkdir()
    text = (ROOT / "common" / "python.sh").read_text()
    (tmp_path / "common" / "python.sh").write_text(text.partition("export PYTHON\n")[0])
    command = ["bash", "-c", "source common/python.sh; echo $PYTHON"]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PATH": os.environ["PATH"], **variables}, capture_output=True, text=True
    )
    assert done.stdout.strip().endswith(expected)

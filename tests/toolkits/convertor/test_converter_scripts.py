"""hf2mg.sh and mg2hf.sh as typed in their own folders, before they convert anything."""

import os
import subprocess
import sys

import pytest

from common.defaults import STARTING_POLICY
from tests.conftest import ROOT

CONVERTOR = ROOT / "toolkits" / "model_checkpoints_convertor"
PUBLISHED = ("SOURCE_CKPT_PATH", "TARGET_CKPT_PATH", "FORMAT", "TP", "PP", "MN", "MEGATRON_PATH", "mg2hf")


def script(model: str, name: str, *flags: str, **variables: str) -> subprocess.CompletedProcess:
    kept = {key: value for key, value in os.environ.items() if key not in PUBLISHED}
    environment = {**kept, "PYTHON": sys.executable, **variables}
    command = ["bash", name, *flags]
    return subprocess.run(command, cwd=CONVERTOR / model, env=environment, capture_output=True, text=True, timeout=200)


@pytest.mark.parametrize("model", ["idefics2", "llava", "llava_next"])
@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("hf2mg.sh", "hf2mg.sh --load_path HF_DIR --save_path MEGATRON_DIR"),
        ("mg2hf.sh", "mg2hf.sh --load_path MEGATRON_DIR --save_path HF_DIR"),
    ],
)
def test_with_nothing_given_the_script_gives_a_line_to_copy(model: str, name: str, paths: str) -> None:
    done = script(model, name)
    [line] = done.stderr.splitlines()
    assert done.returncode == 2 and line.startswith("error: no checkpoint to convert; give a ")
    assert line.endswith(f"bash {CONVERTOR}/{model}/{paths}")


def test_published_names_give_the_same_line() -> None:
    assert "hf2mg.sh --load_path HF_DIR" in script("idefics2", "hf2mg_8A100.sh").stderr
    assert "mg2hf.sh --load_path MEGATRON_DIR" in script("idefics2", "mg2hf_idefics2.sh").stderr


def test_a_flag_that_is_misspelled_is_named() -> None:
    done = script("llava", "hf2mg.sh", "--loadpath", "X")
    assert done.returncode == 2 and "--loadpath" in done.stderr and "no checkpoint" not in done.stderr


def test_the_folder_of_a_script_is_the_family_that_it_accepts() -> None:
    done = script("llava", "hf2mg.sh", "--load_path", str(STARTING_POLICY), "--save_path", "/nowhere/else")
    assert done.returncode == 2
    assert done.stderr == (
        f"error: {STARTING_POLICY}: this is idefics2, not llava; "
        "see toolkits/model_checkpoints_convertor/idefics2/hf2mg.sh\n"
    )


def test_help_says_the_scripts_own_name_and_no_direction() -> None:
    said = script("llava", "mg2hf.sh", "--help").stdout
    assert said.startswith("usage: mg2hf.sh ") and "SOURCE_CKPT_PATH" in said
    assert "--direction" not in said and "convert.py" not in said


def test_variables_that_change_nothing_are_named() -> None:
    variables = {"TP": "8", "MN": "mistral-7b", "MEGATRON_PATH": "/x"}
    done = script("idefics2", "hf2mg.sh", "--load_path", "/nowhere", "--save_path", "/nowhere/else", **variables)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].startswith("not needed: MN MEGATRON_PATH TP (")

"""Every line of the proof of a GPU machine runs here without one, in its small form."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from elcano.recipe import load_recipe
from tests.conftest import ROOT
from tests.gpu.lines import small_recipe


def prove(*flags: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHON": sys.executable, "CUDA_VISIBLE_DEVICES": ""}
    command = ["bash", str(ROOT / "tests" / "gpu.sh"), *flags]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_without_a_gpu_it_says_how_to_try_its_lines(tmp_path: Path) -> None:
    done = prove("--output_dir", str(tmp_path))
    assert done.returncode == 2
    assert (
        done.stderr
        == "error: no GPU is visible here; `bash tests/gpu.sh --cpu` runs every line in a small form without one\n"
    )


def test_what_it_imports_hides_no_gpu() -> None:
    program = "import os, tests.gpu.__main__, tests.rehearsal.__main__; print(os.environ['CUDA_VISIBLE_DEVICES'])"
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "0,1"}
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout == "0,1\n", done.stderr


def test_an_unknown_line_is_refused(tmp_path: Path) -> None:
    done = prove("--cpu", "--only", "training", "rowing", "--output_dir", str(tmp_path))
    assert done.returncode == 2 and "--only rowing: the lines are parity_with_our_layers" in done.stderr


@pytest.mark.slow
def test_a_line_that_fails_is_told_and_the_next_ones_run(tmp_path: Path) -> None:
    """What it must write cannot be written: the benchmark's own words, exit code 1."""
    (tmp_path / "reload.json").mkdir()
    done = prove(
        "--cpu", "--only", "parity_with_transformer_engine", "reload_under_load", "--output_dir", str(tmp_path)
    )
    assert done.returncode == 1, done.stdout + done.stderr
    lines = json.loads((tmp_path / "gpu.json").read_text())["lines"]
    assert [(line["name"], line["status"]) for line in lines] == [
        ("parity_with_transformer_engine", "skip"),
        ("reload_under_load", "fail"),
    ]
    assert lines[0]["reason"] == "there is no GPU" and "tests.server.cluster.soak" in lines[1]["commands"][0]


def test_the_quickstarts_small_form_is_a_recipe(tmp_path: Path) -> None:
    recipe = load_recipe(small_recipe(tmp_path))
    assert [one.training.train_iters for one in recipe.rounds] == [2, 2]


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_every_line_in_its_small_form(tmp_path: Path) -> None:
    done = prove("--cpu", "--output_dir", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "gpu.json").read_text())
    assert report["small_cpu_mode"] and report["host"]["gpus"] == [] and report["host"]["versions"]["torch"]
    status = {line["name"]: line["status"] for line in report["lines"]}
    assert status.pop("parity_with_transformer_engine") == "skip"
    assert len(status) == 6 and set(status.values()) == {"pass"}
    assert all(
        line["figures"] and line["commands"] and line["summary"] for line in report["lines"] if line["status"] == "pass"
    )

"""Console scripts: what pyproject.toml names is there, and says what it lacks."""

import subprocess
import sys
import tomllib

import pytest

from common.options import command_line
from elcano import scripts
from tests.conftest import ROOT

NAMED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]


def test_every_script_is_a_command() -> None:
    ours = {name: target.partition(":")[2] for name, target in NAMED.items() if target.startswith("elcano.scripts")}
    assert len(ours) == 15 and all(callable(getattr(scripts, name)) for name in ours.values())


def test_a_script_is_the_command_it_names() -> None:
    code = "from elcano import scripts; scripts.samples()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2 and "--result_dir, --image_dir, --save_json_file must be given" in done.stderr


def test_help_and_errors_name_the_script() -> None:
    code = "import sys; sys.argv[0] = '/usr/bin/elcano-samples'; from elcano import scripts; scripts.samples()"
    helped, refused = (
        subprocess.run([sys.executable, "-c", code, word], capture_output=True, text=True, cwd=ROOT)
        for word in ("--help", "--no_such_flag")
    )
    assert helped.stdout.startswith("usage: elcano-samples [-h]")
    assert refused.stderr.startswith("error: elcano-samples: ")
    assert scripts.STARTED_AS == command_line.STARTED_AS


def test_a_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setitem(scripts._NEEDS, "train", "no_such_package")
    with pytest.raises(SystemExit) as ended:
        scripts.train()
    assert ended.value.code == 2
    assert capsys.readouterr().err == "error: no_such_package is not installed; pip install 'elcano[train]'\n"


def test_the_version_is_said() -> None:
    done = subprocess.run([sys.executable, "-m", "elcano.cli", "--version"], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.startswith("elcano 0.")
    told = subprocess.run([sys.executable, "-m", "elcano.cli", "--help"], capture_output=True, text=True, cwd=ROOT)
    assert "elcano --version" in told.stdout

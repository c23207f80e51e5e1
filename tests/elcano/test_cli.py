"""The `elcano` command as it is typed."""

import subprocess
import sys
from pathlib import Path

import pytest

from elcano.cli import main


@pytest.mark.parametrize("words", [["run", "--help"], ["run", "recipe.py", "--help"], ["run", "recipe.py", "-h"]])
def test_help_names_the_recipe_wherever_it_stands(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["elcano", *words])
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().out.startswith("usage: elcano run [-h] PATH ")


def test_view_is_the_viewer(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "elcano.cli", "view", tmp_path], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "") and "holds no trajectories" in done.stderr

"""The `elcano` command as it is typed."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from elcano.cli import main
from elcano.executors.local import last_words
from tests.conftest import ROOT
from tests.server.helpers import wait_for


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


def test_an_address_is_for_ray_alone(tmp_path: Path) -> None:
    recipe = ROOT / "examples" / "quickstart" / "recipe.py"
    words = ["run", recipe, "--address", "10.0.0.1:6379", "--output_dir", tmp_path / "run"]
    done = subprocess.run([sys.executable, "-m", "elcano.cli", *words], capture_output=True, text=True)
    assert (
        (done.returncode, done.stdout) == (2, "") and "--executor ray" in done.stderr and done.stderr.count("\n") == 1
    )
    assert not (tmp_path / "run").exists()


_RUNS = """
import signal, sys
from pathlib import Path
from elcano.cli import Run, _executor
from elcano.executors.executor import Command
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # also where the tests run under nohup
says = "trap 'echo saved; exit 0' TERM; echo begun; sleep 60 & wait"
_executor(Run(Path("recipe.py"))).run(Command(["bash", "-c", says], Path(sys.argv[1])))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_asked_to_end_lets_its_command_save(number: int, tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    run = subprocess.Popen([sys.executable, "-c", _RUNS, log], stdout=subprocess.DEVNULL)
    wait_for(lambda: log.exists() and "\nbegun" in log.read_text())
    run.send_signal(number)
    assert run.wait(30) == 128 + number and "saved" in log.read_text()


def test_the_last_words_are_of_the_last_command(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("$ first\nerror: no such shards\n$ second\nstep 1\n")
    assert last_words(log) == "step 1"

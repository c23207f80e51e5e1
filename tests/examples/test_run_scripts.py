"""The scripts of examples as a newcomer types them: asked for help, and with nothing set."""

import os
import subprocess

import pytest

from tests.conftest import ROOT

NEEDS = {"reward_model": "LEARN", "serving_engines": "BASE_URL"}


def script(name: str, *words: str) -> subprocess.CompletedProcess:
    kept = {key: value for key, value in os.environ.items() if key not in (*NEEDS.values(), "OPENWEBVOYAGER_TASKS")}
    command = ["bash", f"examples/{name}/run.sh", *words]
    return subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("name", sorted(path.parent.name for path in ROOT.glob("examples/*/run.sh")))
def test_help_is_the_comment_that_a_script_begins_with(name: str) -> None:
    done = script(name, "--help")
    assert done.returncode == 0 and f"examples/{name}/run.sh" in done.stdout, done.stderr
    assert "set -" not in done.stdout


@pytest.mark.parametrize(("name", "variable"), NEEDS.items())
def test_a_variable_that_is_missing_is_named_in_one_line(name: str, variable: str) -> None:
    done = script(name)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {variable} is not set: ") and len(done.stderr.splitlines()) == 1


def test_shift_dates_without_a_folder() -> None:
    assert script("openwebvoyager", "--shift_dates").stderr.startswith("error: --shift_dates: give the folder")

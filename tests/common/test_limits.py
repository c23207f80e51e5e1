"""Values that their fields do not allow are refused when they are made, on a command line and in Python alike."""

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from collection.config.commands import ExplorationConfig, RunConfig
from common.errors import UserError
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("kind", "values", "said"),
    [
        (RunConfig, {"max_iter": 0}, "--max_iter must be at least 1, not 0"),
        (RunConfig, {"max_iter": "8"}, "--max_iter must be int, not '8'"),
        (RunConfig, {"headless": "true"}, "--headless must be True or False, not 'true'"),
        (
            RunConfig,
            {"judge": "orcale"},
            "--judge must be one of auto, none, oracle, .*, or the module path of your own, not orcale",
        ),
        (RunConfig, {"env_seeds": (1, "2")}, "--env_seeds must be a tuple of int"),
        (RunConfig, {"allow_hosts": "a.org"}, "--allow_hosts must be a tuple of str, not 'a.org'"),
        (RunConfig, {"num_sessions": 0}, "--num_sessions must be at least 1, not 0"),
        (RunConfig, {"temperature": float("nan")}, "--temperature must be a finite number or None, not nan"),
        (RunConfig, {"eval_votes": 2}, "--eval_votes must be an odd number"),
        (RunConfig, {"text_only": True, "observation": "marks"}, "--observation marks shows numbers on screenshots"),
        (ExplorationConfig, {"max_rerun_times": 65}, "--max_rerun_times must be 1 to 64, not 65"),
        (RunConfig, {"sites_port": 80999}, "--sites_port must be 1 to 65535, not 80999"),
    ],
    ids=str,
)
def test_a_bad_value_is_refused_where_it_is_made(kind: type, values: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=f"^{said}"):
        kind(**values)
    with pytest.raises(UserError, match=f"^{said}"):
        dataclasses.replace(kind(), **values)


def test_good_values_are_taken_as_they_are() -> None:
    values = {"temperature": 0, "num_sessions": None, "test_file": Path("t.jsonl"), "eval_usd_per_mtok": (2.5, 10)}
    config = RunConfig(**values)
    assert {name: getattr(config, name) for name in values} == values


def test_a_command_line_ends_with_one_line_and_code_2() -> None:
    command = [sys.executable, "collection/run.py", "--max_iter", "0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "error: --max_iter must be at least 1, not 0\n")


@pytest.mark.parametrize(
    "command",
    [
        ["server/hf_online_server.py"],
        ["collection/stand_in.py"],
        ["environments/sites/expert/server.py"],
        ["-m", "environments.sites"],
        ["-m", "environments.miniwob"],
    ],
)
def test_a_port_that_cannot_be(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, *command, "--port", "80999"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (2, "error: --port must be 0 to 65535, not 80999\n")

"""What `--executor ray` says and sets before there is any Ray."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.elcano.ray_nodes import NEEDS_RAY

SETS = """
import os
from common.ray_cluster.settings import prepare
address = os.environ.get("RAY_ADDRESS", "")
prepare(address, f"--executor ray: RAY_ADDRESS={address}")
"""
WITHOUT_RAY = "import sys; sys.modules['ray'] = None\nfrom elcano.cli import main; main()"


def started(script: str, *words: object, **variables: str) -> subprocess.CompletedProcess:
    own = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = [sys.executable, "-c", script, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={**own, **variables})


def test_without_ray_it_is_said_in_one_line(tmp_path: Path) -> None:
    recipe = ROOT / "examples" / "quickstart" / "recipe.py"
    done = started(WITHOUT_RAY, "run", recipe, "--executor", "ray", "--output_dir", tmp_path / "run")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: --executor ray: Ray is not installed here; run: pip install -e '{ROOT}[ray]'\n"
    assert not (tmp_path / "run").exists()


@NEEDS_RAY
@pytest.mark.parametrize(
    "address, says",
    [
        ("127.0.0.1:1", "nothing answers there"),
        ("127.0.0.1:99999", "nothing answers there"),
        ("no.such.host.invalid:6379", "nothing answers there"),
        ("ray://127.0.0.1:10001", "start the run on a node of the cluster, and give its address as HOST:PORT"),
        ("head", "HOST:PORT"),
        ("10.0.0..1:6379", "nothing answers there"),
        ("127.0.0.1:\N{SUPERSCRIPT TWO}", "HOST:PORT"),
    ],
)
def test_an_address_without_a_cluster_is_refused(address: str, says: str) -> None:
    done = started(SETS, RAY_ADDRESS=address)
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"common.errors.UserError: --executor ray: RAY_ADDRESS={address}: ") and says in last


@NEEDS_RAY
def test_a_cluster_of_its_own_has_a_token_that_only_this_user_reads() -> None:
    script = SETS + (
        "path = os.environ['RAY_AUTH_TOKEN_PATH']\n"
        "print(os.environ['RAY_AUTH_MODE'], os.environ.get('RAY_AUTH_TOKEN'), len(open(path).read()), path)\n"
        "print(oct(os.stat(path).st_mode & 0o777), oct(os.stat(os.path.dirname(path)).st_mode & 0o777))"
    )
    runs = [started(script, RAY_AUTH_MODE="disabled", RAY_AUTH_TOKEN="mine").stdout.split() for _ in range(2)]
    for said in runs:
        assert [*said[:3], *said[4:]] == ["token", "None", "64", "0o600", "0o700"]
    paths = [Path(said[3]) for said in runs]
    assert paths[0] != paths[1] and not any(path.parent.exists() for path in paths)

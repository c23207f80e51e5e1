"""Collection over nodes, as far as it needs no Ray: what is refused, and files in pieces."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from collection.nodes.pieces import BATCH_BYTES, batches, write
from tests.conftest import ROOT
from tests.elcano.ray_nodes import NEEDS_RAY

WITHOUT_RAY = "import sys; sys.modules['ray'] = None; sys.path[0] = '.'; sys.argv[0] = 'collection/run.py'\n"
RUNS = "from collection.run import RunConfig, main\nfrom common.cli import run\nrun(RunConfig, main)"


def started(*words: object, before: str = "") -> subprocess.CompletedProcess:
    own = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = [sys.executable, "-c", before + RUNS, *map(str, words)]
    return subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    "flags, says",
    [
        pytest.param(
            ["--ray_address", "127.0.0.1:1"], "error: --ray_address 127.0.0.1:1: nothing answers there", marks=NEEDS_RAY
        ),
        pytest.param(
            ["--ray_address", "head"],
            "error: --ray_address head: start the run on a node of the cluster",
            marks=NEEDS_RAY,
        ),
        (["--shared_output_dir"], "error: --shared_output_dir is about the nodes of --ray_address"),
        (["--ray_address", "h:1", "--env", "webarena"], "error: --env webarena is for this machine alone"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(flags: list[str], says: str, tmp_path: Path) -> None:
    output = tmp_path / "results"
    done = started("--headless", "--api_localhost", "http://127.0.0.1:1/predict", "--output_dir", output, *flags)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not output.exists()


def test_without_ray_it_is_said_in_one_line_and_one_machine_collects(tmp_path: Path) -> None:
    flags = ["--headless", "--api_localhost", "http://127.0.0.1:1/predict", "--output_dir", tmp_path / "results"]
    done = started(*flags, "--ray_address", "127.0.0.1:6379", before=WITHOUT_RAY)
    said = f"error: --ray_address 127.0.0.1:6379: Ray is not installed here; run: pip install -e '{ROOT}[ray]'\n"
    assert (done.returncode, done.stderr) == (2, said)
    done = started(*flags, before=WITHOUT_RAY)
    assert "nothing answers at http://127.0.0.1:1/predict" in done.stderr  # as ever


def test_files_come_through_in_bounded_pieces(tmp_path: Path) -> None:
    sent, arrived = tmp_path / "sent", tmp_path / "arrived"
    (sent / "inner").mkdir(parents=True)
    contents = {
        "a": b"",
        "b": os.urandom(3 * BATCH_BYTES + 7),
        "c": b"c",
        "inner/d": os.urandom(BATCH_BYTES),
        "e": b"\n",
    }
    for name, content in contents.items():
        (sent / name).write_bytes(content)
        os.utime(sent / name, (1_700_000_000, 1_700_000_000))
    for batch in batches(sent):
        assert sum(len(data) for _, data, _ in batch) <= BATCH_BYTES
        write(arrived, batch)
    found = {str(path.relative_to(arrived)): path.read_bytes() for path in arrived.rglob("*") if path.is_file()}
    assert found == contents
    assert {(arrived / name).stat().st_mtime for name in contents} == {1_700_000_000}

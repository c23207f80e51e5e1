"""The folder of a Ray of our own, without Ray: it outlives no process for long, and takes nobody else's."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.errors import UserError
from common.ray_cluster import folder as folder_module
from common.ray_cluster.folder import make_folder
from tests.conftest import ROOT

MAKES = """
from common.ray_cluster import folder
folder._MOST_BYTES = 4096
print(folder.make_folder(""), flush=True)
input()
"""


@pytest.fixture
def tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(folder_module, "_MOST_BYTES", 4096)  # no sockets are made here
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def maker(tmp: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that made one; it ends well when it hears a line."""
    command, environment = [sys.executable, "-c", MAKES], {**os.environ, "TMPDIR": str(tmp)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, text=True) as process:
        yield process
        process.kill()


def made(maker: subprocess.Popen[str]) -> Path:
    return Path(maker.stdout.readline().strip())


def test_it_goes_with_its_process(maker: subprocess.Popen[str]) -> None:
    folder = made(maker)
    assert folder.stat().st_mode & 0o777 == 0o700
    maker.communicate("\n", timeout=60)
    assert not folder.exists()


def test_that_of_a_killed_process_is_removed_by_the_next_and_no_other(tmp: Path, maker: subprocess.Popen[str]) -> None:
    folder = made(maker)
    (folder / "token").write_text("secret")
    (tmp / "elcano-ray-link").symlink_to(tmp / "elsewhere")
    (tmp / "elsewhere").mkdir()
    make_folder("")
    assert (folder / "token").exists()
    maker.kill()
    maker.wait()
    assert folder.exists()
    make_folder("")
    assert not folder.exists() and (tmp / "elsewhere").exists() and (tmp / "elcano-ray-link").is_symlink()
    assert len(list(tmp.glob("elcano-ray-*"))) == 3  # the link and the two that this process made


def test_it_stays_while_processes_of_ray_still_end_there(tmp: Path) -> None:
    folder = tmp / "elcano-ray-killed"
    folder.mkdir()
    with subprocess.Popen([sys.executable, "-c", "input()", f"--session-dir={folder}"], stdin=subprocess.PIPE) as ray:
        make_folder("")
        assert folder.exists()
        ray.communicate()
    make_folder("")
    assert not folder.exists()


def test_one_that_another_takes_for_dead_is_not_used(tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between being made and being locked."""
    real, made = tempfile.mkdtemp, []

    def mkdtemp(prefix: str) -> str:
        made.append(real(prefix=prefix))
        if len(made) == 1:
            folder_module._remove_left()
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", mkdtemp)
    folder = make_folder("")
    assert [str(folder)] == made[1:] and not Path(made[0]).exists()


def test_a_name_that_is_too_long_for_sockets_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(f"/tmp{folder_module._SOCKET}") < 107
    monkeypatch.setattr(tempfile, "tempdir", "/" + "x" * 60)
    with pytest.raises(UserError, match=r"^--executor ray: the names .* set TMPDIR to a shorter folder"):
        make_folder("--executor ray")

"""A full disk is known whoever writes, and becomes one line and exit code 2 in every command."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest
import torch
from pyarrow import parquet
from safetensors.torch import save_file

from common.cli import guarded
from common.errors import UserError
from common.files import write_atomic
from common.full_disk import full_disk_error, why_full
from tests.conftest import ROOT
from tests.small_disk import small_disk
from tests.toolkits.trajectories import write_trajectory

NUMBERS = torch.arange(200_000.0)


def fill_a_database(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE x (y)")
        database.execute("INSERT INTO x VALUES (?)", (bytes(800_000),))


WRITERS: dict[str, Callable[[Path], object]] = {
    "write_atomic": lambda path: write_atomic(path, bytes(800_000)),
    "torch": lambda path: torch.save({"a": NUMBERS}, path),
    "safetensors": lambda path: save_file({"a": NUMBERS}, path),
    "parquet": lambda path: parquet.write_table(pyarrow.table({"a": NUMBERS.numpy()}), path, compression="none"),
    "sqlite": fill_a_database,
}


@pytest.mark.parametrize("writer", WRITERS)
def test_it_is_one_line_whoever_writes(tmp_path: Path, writer: str, capsys: pytest.CaptureFixture) -> None:
    with small_disk(tmp_path / "disk", 100) as disk:
        code = guarded(lambda path: WRITERS[writer](path) and None, disk / "file")
    told = capsys.readouterr().err
    assert code == 2 and told.startswith("error: ") and told.count("\n") == 1
    assert "no space left on device; make room and run the same command again" in told
    assert str(disk / "file") in told or writer != "write_atomic"


def test_of_a_copy_the_line_names_what_was_to_be_written(tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(bytes(800_000))
    with small_disk(tmp_path / "disk", 100) as disk, pytest.raises(OSError) as copied:
        shutil.copyfile(tmp_path / "source", disk / "target")
    assert str(full_disk_error(copied.value)).startswith(f"{disk / 'target'}: no space left on device")


@pytest.mark.parametrize(("kilobytes", "place"), [(8, "samples.json"), (60, "images")])
def test_the_converters_name_the_disk_that_is_full(tmp_path: Path, kilobytes: int, place: str) -> None:
    for number in range(12):
        write_trajectory(tmp_path / "run", f"Shop--{number}")
    with small_disk(tmp_path / "disk", kilobytes) as disk:
        where = {"samples.json": tmp_path / "samples.json", "images": tmp_path / "images"} | {place: disk / place}
        command = [sys.executable, "toolkits/convert_trajectories_to_json.py", "--result_dir", tmp_path / "run"]
        command += ["--save_json_file", where["samples.json"], "--image_dir", where["images"]]
        done = subprocess.run(list(map(str, command)), cwd=ROOT, capture_output=True, text=True)
        left = list(disk.rglob("*.tmp"))
    assert done.returncode == 2 and "Traceback" not in done.stderr and not left
    [line] = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert line.startswith(f"error: {disk}") and "no space left on device; make room" in line


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_where_the_log_is_on_the_full_disk_the_exit_code_says_it(stream: str) -> None:
    command = [sys.executable, "toolkits/inspect_data.py", "--help" if stream == "stdout" else "--data=none"]
    with open("/dev/full", "w") as full:
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | {stream: full}
        done = subprocess.run(command, cwd=ROOT, text=True, **streams)
    assert done.returncode == 2
    assert stream == "stderr" or (done.stderr.count("\n") == 1 and "no space left on device" in done.stderr)


def test_it_is_known_however_it_is_wrapped() -> None:
    system = OSError(122, "Disk quota exceeded")
    wrapped = RuntimeError("Worker failure")
    wrapped.__cause__ = ExceptionGroup("several", [ValueError("x"), system])
    assert why_full(wrapped) == "disk quota exceeded"
    assert why_full(RuntimeError("I/O error: No space left on device (os error 28)")) == "no space left on device"


def test_other_errors_are_none() -> None:
    assert full_disk_error(OSError(13, "Permission denied")) is None
    assert full_disk_error(UserError("no space left on device")) is None
    with pytest.raises(PermissionError):
        guarded(lambda path: (_ for _ in ()).throw(PermissionError(13, "Permission denied")), None)


@pytest.mark.parametrize("beside", [".samples.json.tmp", ".samples.json.{pid}.tmp", "samples.json"])
def test_a_refused_path_is_what_was_typed(beside: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And not the file beside it that becomes it at the end."""
    refused = PermissionError(13, "Permission denied", f"my.data/{beside.format(pid=os.getpid())}")
    assert guarded(lambda path: (_ for _ in ()).throw(refused), None) == 2
    assert capsys.readouterr().err.startswith("error: my.data/samples.json: Permission denied; name another path")

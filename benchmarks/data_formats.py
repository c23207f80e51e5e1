"""Every format that goes both ways: what is written, read back, and packed is compared with the direct way to shards.

    python -m benchmarks.data_formats --num_trajectories 100
    python -m benchmarks.data_formats --result_dir runs/quickstart/optim-1/trajectories

Trajectories are those of benchmarks/conversion_data.py (screenshots of 1024x768, every file different) or given ones.
Each command runs in a process of its own, whose start-up counts. The baseline is a copy of the same trajectories, file
by file, in the same run. Shards are the same when all tars are, byte for byte.
"""

import contextlib
import dataclasses
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.conversion_data import base_screenshots, write_trajectories
from common import cli
from common.files import file_digest, write_json
from common.shown.tables import Table, print_table

ROOT = Path(__file__).resolve().parent.parent
TRAJECTORIES = ("atif", "adp")
SAMPLES = ("messages", "llava", "ms_swift", "llama_factory", "hf", "verl", "webdataset", "energon")
GIVEN = {"messages": "train.jsonl", "ms_swift": "train.jsonl", "llava": "train.json", "verl": "train.parquet"}
NAMES = ("mb", "out_s", "out_cpu_s", "out_peak_mb", "in_s", "in_cpu_s", "in_peak_mb")
BESIDE = ("llava", "ms_swift", "llama_factory")
"""Whose images lie beside the file: the export's folder is their `--image_dir`."""


@dataclasses.dataclass(frozen=True)
class Config:
    """Go through every format and back."""

    num_trajectories: int = 100
    """How many to make."""
    result_dir: str = ""
    """Trajectories to take instead."""
    screenshots: str = ""
    """As in benchmarks/conversion_data.py."""
    formats: tuple[str, ...] = (*TRAJECTORIES, *SAMPLES)
    """Which."""
    work_dir: str = ""
    """Where to work; empty: a temporary folder."""
    output: str = ""
    """A JSON file for the numbers."""


@dataclasses.dataclass(frozen=True)
class Ran:
    """A command: seconds of the clock and of the CPU, the most memory it had in MB, and what it said was left out."""

    seconds: float
    cpu_s: float
    mb: float
    left_out: str


def run(command: str, *flags: object) -> Ran:
    """One of the toolkits' commands."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    begin = time.perf_counter()
    with tempfile.TemporaryFile("w+") as said:
        words = [sys.executable, str(ROOT / "toolkits" / command), *map(str, flags)]
        child = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=said, text=True)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read()
    if child.returncode:
        raise SystemExit(f"{command} {' '.join(map(str, flags))}\n{text}")
    lines = [line.partition("left out: ")[2] for line in text.splitlines() if "left out: " in line]
    cpu_s = usage.ru_utime + usage.ru_stime
    return Ran(time.perf_counter() - begin, cpu_s, usage.ru_maxrss / 1024, "; ".join(lines))


def samples_of(results: Path, folder: Path) -> None:
    images, samples = folder / "images", folder / "samples.json"
    run("convert_trajectories_to_json.py", "--result_dir", results, "--image_dir", images, "--save_json_file", samples)


def shards_of(samples: Path, images: Path, out: Path) -> dict[str, str]:
    """Digests of the tars."""
    run("convert_to_tar_data.py", "--json_files", samples, "--image_dirs", images, "--save_dir", out)
    return {path.name: file_digest(path) for path in sorted(out.glob("*.tar"))}


def there_and_back(kind: str, results: Path, direct: Path, work: Path) -> tuple[Ran, Ran, int, dict[str, str]]:
    """(the export, the import, bytes of the export, digests of the shards)."""
    out = work / "out"
    given = out / GIVEN.get(kind, ".")
    if kind in TRAJECTORIES:
        written = run("export_data.py", "--format", kind, "--result_dir", results, "--out_dir", out)
        size = num_bytes(out)
        read = run("import_data.py", "--format", kind, "--input_files", given, "--result_dir", work / "back")
        samples_of(work / "back", work)
        return written, read, size, shards_of(work / "samples.json", work / "images", work / "shards")
    of = ("--json_files", direct / "samples.json", "--image_dirs", direct / "images")
    written = run("export_data.py", "--format", kind, *of, "--out_dir", out)
    size, images = num_bytes(out), out if kind in BESIDE else work / "images"
    to = ("--image_dir", images, "--save_json_file", work / "samples.json")
    read = run("import_data.py", "--format", kind, "--input_files", given, *to)
    return written, read, size, shards_of(work / "samples.json", images, work / "shards")


def num_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def copy(results: Path, target: Path) -> tuple[float, float]:
    """Seconds of the clock and of the CPU that it takes to copy the trajectories."""
    begin, cpu = time.perf_counter(), time.process_time()
    shutil.copytree(results, target)
    seconds = time.perf_counter() - begin, time.process_time() - cpu
    shutil.rmtree(target)
    return seconds


def main(config: Config) -> None:
    """Measure, and print a row for each format."""
    if config.work_dir:
        Path(config.work_dir).mkdir(parents=True)
    with contextlib.nullcontext(config.work_dir) if config.work_dir else tempfile.TemporaryDirectory() as work_dir:
        work = Path(work_dir)
        results = Path(config.result_dir or work / "trajectories")
        if not config.result_dir:
            write_trajectories(results, config.num_trajectories, base_screenshots(config.screenshots))
        direct = work / "direct"
        samples_of(results, direct)
        expected = shards_of(direct / "samples.json", direct / "images", direct / "shards")
        (copied, copied_cpu), whole = copy(results, work / "copy"), num_bytes(results)
        figures = ("MB", "out, s", "CPU s", "peak MB", "in, s", "CPU s", "peak MB")
        table, rows = Table(["format", "same shards"], figures, ["left out"]), []
        for kind in config.formats:
            (work / kind).mkdir()
            written, read, size, found = there_and_back(kind, results, direct, work / kind)
            shutil.rmtree(work / kind)
            numbers = (size / 1e6, written.seconds, written.cpu_s, written.mb, read.seconds, read.cpu_s, read.mb)
            table.add(kind, "yes" if found == expected else "no", *(f"{n:.1f}" for n in numbers), written.left_out)
            named = dict(zip(NAMES, numbers, strict=True))
            rows.append({"format": kind, "same": found == expected, **named, "left_out": written.left_out})
        print_table(table)
        print(f"{whole / 1e6:.1f} MB of trajectories; a copy of them took {copied:.2f} s, {copied_cpu:.2f} CPU s")
        if config.output:
            write_json(Path(config.output), {"rows": rows, "copy_s": copied, "copy_cpu_s": copied_cpu, "bytes": whole})


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)

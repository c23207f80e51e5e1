"""Import and packing of many steps: seconds against a plain copy of the same bytes, memory, and what kill -9 leaves.

    python -m benchmarks.data_streaming --num_steps 100000 --kilobytes 45 --work_dir /big/disk

Others' webdataset tars of generated screenshots (PNGs of noise, every one different) go through import_data.py and
convert_to_tar_data.py, each in a process of its own and in turns with three copies: of the tars, of their members by
Python's tarfile, and of the images as files. Then both are killed when half of their files are written, and started
again: the shards must be the same, byte for byte. The work takes four times the screenshots' bytes on disk. Every time
ends when the disk has the bytes (`sync`). Seconds mean something where nothing else runs; CPU seconds, the system's on
behalf of a process among them, nearly everywhere.
"""

import dataclasses
import json
import os
import random
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from benchmarks.conversion_data import WORDS
from common import cli
from common.files import file_digest, write_json
from common.shown.tables import Table, print_table
from data.shards.tar import TarWriter

ROOT = Path(__file__).resolve().parent.parent
_PER_TAR = 1000
_WIDTH = 256
_POLL_S = 0.02


@dataclasses.dataclass(frozen=True)
class Config:
    """Stream generated steps to shards."""

    num_steps: int = 100_000
    """Steps, each with a screenshot."""
    kilobytes: int = 45
    """Of a screenshot."""
    characters: int = 3000
    """Of a step's text."""
    repeats: int = 3
    """Turns of copies and commands."""
    work_dir: str = ""
    """Where to work; empty: a temporary folder."""
    output: str = ""
    """A JSON file for the numbers."""


@dataclasses.dataclass(frozen=True)
class Measured:
    """A command or copy: seconds of the clock and of CPUs, and the largest process's memory."""

    seconds: float
    cpu_s: float = 0.0
    peak_mb: float = 0.0


def screenshot(number: int, kilobytes: int) -> bytes:
    """A PNG of noise, stored as it is: packing would take longer than all that is measured."""
    rows = max(1, kilobytes * 1000 // (3 * _WIDTH + 1))
    noise = random.Random(number).randbytes(rows * 3 * _WIDTH)
    pixels = b"".join(b"\0" + noise[at : at + 3 * _WIDTH] for at in range(0, len(noise), 3 * _WIDTH))
    header = struct.pack(">IIBBBBB", _WIDTH, rows, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(pixels, 0)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def write_tars(folder: Path, config: Config) -> int:
    """Plain webdataset tars; returns their bytes."""
    folder.mkdir()
    rng, num_bytes = random.Random(0), 0
    page = " ".join(rng.choices(WORDS, k=config.characters))
    for first in range(0, config.num_steps, _PER_TAR):
        tar = TarWriter(folder / f"theirs-{first // _PER_TAR:05d}.tar")
        for number in range(first, min(first + _PER_TAR, config.num_steps)):
            shown = page[(at := rng.randrange(len(page) // 2)) : at + config.characters]
            turns = [("human", f"Find {number}.\n<image>\n{shown}"), ("gpt", f"Thought: t\n\nAction: Click [{number}]")]
            fields = {"conversations": [{"from": sender, "value": text} for sender, text in turns]}
            tar.add(f"Shop--{number:07d}.json", json.dumps(fields).encode())
            tar.add(f"Shop--{number:07d}.0.png", screenshot(number, config.kilobytes))
        tar.close()
        num_bytes += tar.num_bytes
    return num_bytes


def copy(source: Path, target: Path, how: Callable[[Path, Path], object] = shutil.copytree) -> Measured:
    """A copy of a folder in this process, which is removed."""
    os.sync()
    begin, cpu = time.perf_counter(), time.process_time()
    how(source, target)
    os.sync()
    measured = Measured(time.perf_counter() - begin, time.process_time() - cpu)
    shutil.rmtree(target)
    return measured


def copy_members(source: Path, target: Path) -> None:
    """Tars to tars, a member at a time, by Python's own tarfile."""
    target.mkdir()
    for path in sorted(source.iterdir()):
        with tarfile.open(path) as theirs, tarfile.open(target / path.name, "w") as ours:
            for member in theirs:
                ours.addfile(member, theirs.extractfile(member))


def start(*command: object) -> subprocess.Popen[bytes]:
    """In a process group of its own, so that its workers die with it."""
    words = [sys.executable, *map(str, command)]
    print(f"{time.strftime('%H:%M:%S')} {Path(words[1]).name}", file=sys.stderr, flush=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, process_group=0)


def run(*command: object) -> Measured:
    """A command to its end."""
    os.sync()
    begin = time.perf_counter()
    process = start(*command)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]}: exit code {process.returncode}")
    os.sync()
    measured = Measured(time.perf_counter() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000)
    print(
        f"  {measured.seconds:.1f} s, CPU {measured.cpu_s:.1f} s, {measured.peak_mb:.0f} MB",
        file=sys.stderr,
        flush=True,
    )
    return measured


def killed(is_half: Callable[[], bool], *command: object) -> None:
    """Start a command, and kill it and its workers once `is_half`."""
    process = start(*command)
    while not is_half() and process.poll() is None:
        time.sleep(_POLL_S)
    if process.poll() is not None:
        raise SystemExit(f"{command[0]}: ended before it was killed")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


COPY, FILES = "copy of the tars", "copy of the images as files"
MEMBERS = "copy of the tars by Python's tarfile, a member at a time"
IMPORT, PACK = "import_data.py: tars to images and samples", "convert_to_tar_data.py: to shards"
IMPORT_AGAIN, PACK_AGAIN = (
    "import_data.py, once more after a kill at half",
    "convert_to_tar_data.py, after a kill at half",
)


def main(config: Config) -> None:
    """Generate, copy, convert, kill, convert, compare; print the table."""
    with tempfile.TemporaryDirectory(dir=config.work_dir or None, prefix="streaming-") as folder:
        turns, facts = measure(Path(folder), config)
    names = ["s", "times the copy", "CPU s", "times the copy's", "peak MB"]
    table = Table([f"{config.num_steps} steps, {facts['mb']:.0f} MB"], names)
    for name in turns[-1]:
        found = [(turn[name], turn[COPY]) for turn in turns if name in turn]
        seconds, cpu = [one.seconds for one, _ in found], [one.cpu_s for one, _ in found]
        ratios = [one.seconds / base.seconds for one, base in found]
        of_cpu = [one.cpu_s / base.cpu_s for one, base in found]
        peak = max(one.peak_mb for one, _ in found)
        is_copy = name == COPY
        cells = (_middle(seconds, 1), "" if is_copy else _middle(ratios, 2))
        table.add(name, *cells, _middle(cpu, 1), "" if is_copy else _middle(of_cpu, 2), f"{peak:.0f}" if peak else "")
    print_table(table)
    print(f"medians (range) of {config.repeats} turns")
    print(f"killed and continued: the same samples {facts['same_samples']}, the same shards {facts['same_shards']}")
    if config.output:
        told = [{name: dataclasses.asdict(one) for name, one in turn.items()} for turn in turns]
        write_json(Path(config.output), {"config": dataclasses.asdict(config), **facts, "turns": told})


def _middle(numbers: list[float], digits: int) -> str:
    median = f"{statistics.median(numbers):.{digits}f}"
    return f"{median} ({min(numbers):.{digits}f} to {max(numbers):.{digits}f})" if len(numbers) > 1 else median


def measure(work: Path, config: Config) -> tuple[list[dict[str, Measured]], dict[str, object]]:
    """(of each turn what was done; the last one also holds what follows the kills, facts)."""
    tars, images, samples, shards = work / "tars", work / "images", work / "samples.json", work / "shards"
    toolkits = ROOT / "toolkits"
    take_in = (toolkits / "import_data.py", "--format", "webdataset", "--input_files", tars, "--image_dir", images)
    take_in = (*take_in, "--save_json_file", samples)
    pack = (toolkits / "convert_to_tar_data.py", "--json_files", samples, "--image_dirs", images, "--save_dir", shards)

    def remove() -> None:
        for path in (images, shards):
            shutil.rmtree(path, ignore_errors=True)
        images.mkdir()
        samples.unlink(missing_ok=True)

    num_bytes, turns = write_tars(tars, config), []
    for _ in range(config.repeats):
        remove()
        turn = {
            COPY: copy(tars, work / "copy"),
            MEMBERS: copy(tars, work / "copy", copy_members),
            IMPORT: run(*take_in),
        }
        turns.append({**turn, FILES: copy(images, work / "copy"), PACK: run(*pack)})
    before = file_digest(samples), file_digest(shards / "manifest.json")
    remove()
    killed(lambda: sum(1 for _ in images.iterdir()) > config.num_steps / 2, *take_in)
    again = {IMPORT_AGAIN: run(*take_in)}
    num_tars = -(-config.num_steps // 500)
    partly = shards.with_name(f".{shards.name}.tmp")
    killed(lambda: len(list((partly / ".done").glob("*.json"))) > num_tars / 2, *pack)
    turns[-1] |= {**again, PACK_AGAIN: run(*pack)}
    same = file_digest(samples) == before[0], file_digest(shards / "manifest.json") == before[1]
    return turns, {"mb": num_bytes / 1e6, "same_samples": same[0], "same_shards": same[1]}


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)

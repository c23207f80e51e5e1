"""Import and packing of many steps: seconds and CPU seconds against `tar`, memory, and what kill -9 leaves.

    python -m benchmarks.data_streaming --num_steps 10000 --kilobytes 300 --work_dir /big/disk

Others' webdataset tars of generated screenshots (PNGs of noise, every one different) go through import_data.py and
convert_to_tar_data.py, in turns with GNU tar, which writes the same files without looking at them: `tar -x` of the tars
into images and texts, `tar -c` of the images into tars, as many processes as there are CPUs. Then both commands are
killed when half of their files are written, and started again: the shards must be the same, byte for byte. Nothing is
removed before the end, since ext4 is slow to create files where others were removed in the last minutes. So the work
takes four times the screenshots' bytes on disk for each turn, and three times more. Whatever is read is on disk alone
before (`posix_fadvise`), and every time ends when the disk has what was written (`sync`). Memory is that of all
processes together, what they share counted once. `--work_dir /dev/shm` has no disk: there CPU seconds mean most.
"""

import contextlib
import dataclasses
import json
import os
import random
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from benchmarks.conversion_data import WORDS
from benchmarks.usage import pss_mb
from common import cli
from common.files import file_digest, write_json
from common.processes import num_cores
from common.shown.tables import Table, print_table
from data.shards.tar import TarWriter

ROOT = Path(__file__).resolve().parent.parent
_PER_TAR = 1000
_WIDTH = 256
_PER_SHARD = 500
_POLL_S = 0.05
_EACH = f"xargs -0 -P {num_cores()} -n"


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
    """Turns of `tar` and the commands."""
    work_dir: str = ""
    """Where to work; empty: a temporary folder."""
    output: str = ""
    """A JSON file for the numbers."""


@dataclasses.dataclass(frozen=True)
class Measured:
    """Seconds of the clock and of CPUs, and the memory of all processes together."""

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


def start(*command: object) -> subprocess.Popen[bytes]:
    """In a process group of its own, so that its workers die with it."""
    words = list(map(str, command))
    print(f"{time.strftime('%H:%M:%S')} {Path(words[1]).name}", file=sys.stderr, flush=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # with it, start-up would compile all anew each time
    return subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, process_group=0)


def run(reads: Path, *command: object) -> Measured:
    """A command to its end; `reads` is the folder whose files it reads."""
    os.sync()
    for path in reads.iterdir():
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    begin, peak = time.perf_counter(), 0.0
    process = start(*command)
    while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
        peak = max(peak, pss_mb(process.pid).total())
        time.sleep(_POLL_S)
    process.returncode = os.waitstatus_to_exitcode(ended[1])
    if process.returncode:
        raise SystemExit(f"{command[1]}: exit code {process.returncode}")
    os.sync()
    measured = Measured(time.perf_counter() - begin, ended[2].ru_utime + ended[2].ru_stime, peak)
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
        raise SystemExit(f"{command[1]}: ended before it was killed")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


UNTAR, TAR = "tar -x: tars to images and texts", "tar -c: images to tars"
IMPORT, PACK = "import_data.py: tars to images and samples", "convert_to_tar_data.py: to shards"
IMPORT_AGAIN, PACK_AGAIN = "import_data.py, after a kill at half", "convert_to_tar_data.py, after a kill at half"
BASES = {IMPORT: UNTAR, PACK: TAR}


def main(config: Config) -> None:
    """Generate, unpack, convert, kill, convert, compare; print the table."""
    with tempfile.TemporaryDirectory(dir=config.work_dir or None, prefix="streaming-") as folder:
        turns, facts = measure(Path(folder), config)
    names = ["s", "times tar's", "CPU s", "times tar's", "peak MB"]
    table = Table([f"{config.num_steps} steps, {facts['mb']:.0f} MB"], names)
    for name in turns[-1]:
        found = [turn[name] for turn in turns if name in turn]
        bases = [turn[BASES[name]] for turn in turns] if name in BASES else []
        ratios = [(one.seconds / base.seconds, one.cpu_s / base.cpu_s) for one, base in zip(found, bases, strict=False)]
        seconds, cpu = _middle([one.seconds for one in found], 1), _middle([one.cpu_s for one in found], 1)
        of_seconds, of_cpu = (_middle([pair[place] for pair in ratios], 2) for place in (0, 1))
        table.add(name, seconds, of_seconds, cpu, of_cpu, f"{max(one.peak_mb for one in found):.0f}")
    print_table(table)
    print(f"medians (range) of {config.repeats} turns")
    print(f"killed and continued: the same samples {facts['same_samples']}, the same shards {facts['same_shards']}")
    if config.output:
        told = [{name: dataclasses.asdict(one) for name, one in turn.items()} for turn in turns]
        write_json(Path(config.output), {"config": dataclasses.asdict(config), **facts, "turns": told})


def _middle(numbers: list[float], digits: int) -> str:
    if not numbers:
        return ""
    median = f"{statistics.median(numbers):.{digits}f}"
    return f"{median} ({min(numbers):.{digits}f} to {max(numbers):.{digits}f})" if len(numbers) > 1 else median


class Place:
    """A folder where the commands work, and what is typed there."""

    def __init__(self, folder: Path):
        self.images, self.samples, self.shards = folder / "images", folder / "samples.json", folder / "shards"
        self._unpacked, self._packed = folder / "unpacked", folder / "packed"
        for path in (self.images, self._unpacked, self._packed):
            path.mkdir(parents=True)

    def untar(self, tars: Path) -> tuple[object, ...]:
        return "sh", "-c", f"find {tars} -name '*.tar' -print0 | {_EACH} 1 tar -C {self._unpacked} -xf"

    def tar(self) -> tuple[object, ...]:
        write_one = f"sh -c 'tar -cf {self._packed}/$$.tar \"$@\"' sh"
        return "sh", "-c", f"cd {self.images} && find . -name '*.png' -print0 | {_EACH} {_PER_SHARD} {write_one}"

    def take_in(self, tars: Path) -> tuple[object, ...]:
        tool = (sys.executable, ROOT / "toolkits" / "import_data.py", "--format", "webdataset", "--input_files", tars)
        return *tool, "--image_dir", self.images, "--save_json_file", self.samples

    def pack(self) -> tuple[object, ...]:
        tool = (sys.executable, ROOT / "toolkits" / "convert_to_tar_data.py", "--json_files", self.samples)
        return *tool, "--image_dirs", self.images, "--save_dir", self.shards

    def digests(self) -> tuple[str, str]:
        """Of the samples and the shards."""
        return file_digest(self.samples), file_digest(self.shards / "manifest.json")


def measure(work: Path, config: Config) -> tuple[list[dict[str, Measured]], dict[str, object]]:
    """(of each turn what was done; the last one also holds what follows the kills, facts)."""
    tars = work / "tars"
    num_bytes, turns = write_tars(tars, config), []
    for number in range(config.repeats):
        place = Place(work / str(number))
        turn = {UNTAR: run(tars, *place.untar(tars)), IMPORT: run(tars, *place.take_in(tars))}
        turns.append({**turn, TAR: run(place.images, *place.tar()), PACK: run(place.images, *place.pack())})
    again = Place(work / "killed")
    killed(lambda: _count(again.images, ".png") > config.num_steps / 2, *again.take_in(tars))
    turns[-1][IMPORT_AGAIN] = run(tars, *again.take_in(tars))
    done = again.shards.with_name(f".{again.shards.name}.tmp") / ".done"
    killed(lambda: _count(done, ".tar.json") > config.num_steps / _PER_SHARD / 2, *again.pack())
    turns[-1][PACK_AGAIN] = run(again.images, *again.pack())
    same = [one == other for one, other in zip(place.digests(), again.digests(), strict=True)]
    return turns, {"mb": num_bytes / 1e6, "same_samples": same[0], "same_shards": same[1]}


def _count(folder: Path, ending: str) -> int:
    """How many files there are by now whose names end so."""
    with contextlib.suppress(FileNotFoundError):
        return sum(entry.name.endswith(ending) for entry in os.scandir(folder))
    return 0


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)

"""Samples per second and bytes of our data converters against the published ones, on the same trajectories.

    python benchmarks/conversion_data.py --num_trajectories 100 1000 4000

Trajectories lie as OpenWebVoyager's collector leaves them: 1024x768 screenshots, every file different (those of
`--screenshots`, or drawn), 6.85 steps on average as in the released data. Both sides go from trajectory folders to
tars: ours as its two commands with their start-up, once by default and once with `--share_images`, the published way
(published_converter.py) in a process of its own. At the first size, samples are compared: they must be the same. The
sides take turns, repeat by repeat.
"""

import dataclasses
import functools
import hashlib
import io
import json
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # training.py lies in this folder and would hide the room

from benchmarks.figures import Figure, plain, watched
from common import cli
from common.files import write_json
from common.shown.tables import Table, print_table
from data.shards.legacy import read_legacy_tar
from data.shards.shard import Sample, read_manifest, read_shard

ROOT = Path(__file__).resolve().parent.parent
RELEASED = ROOT.parent / "shared" / "fixtures" / "openwebvoyager" / "images"
STEPS = (2, 15, 3.55)  # triangular: its mean is the released 5,866 samples of 856 trajectories
WORDS = "red blue shoe book train rome search result price offer cheap new sign home menu cart topic reply".split()


@dataclasses.dataclass(frozen=True)
class Config:
    """Compare the data converters with the published ones."""

    num_trajectories: tuple[int, ...] = (100, 1000, 4000)
    """Sizes to measure, smallest first."""
    screenshots: str = ""
    """A folder of PNG screenshots; `drawn` draws some; empty: OpenWebVoyager's released ones if they are there."""
    num_repeats: int = 3
    """Runs of each side."""
    num_workers: int = 0
    """Our processes; 0: one per CPU."""
    work_dir: str = ""
    """Where to work (tens of GB for 4000 trajectories with real screenshots); empty: a temporary folder."""
    output: str = ""
    """A JSON file for the numbers."""


def base_screenshots(folder: str) -> list[bytes]:
    """Some PNGs."""
    source = Path(folder) if folder else RELEASED
    if folder != "drawn" and source.is_dir():
        return [path.read_bytes() for path in sorted(source.glob("*.png"))]
    return [_draw(random.Random(seed)) for seed in range(8)]


def _draw(rng: random.Random) -> bytes:
    image = Image.new("RGB", (1024, 768), "white")
    draw = ImageDraw.Draw(image)
    for _ in range(250):
        color = tuple(rng.randrange(160) for _ in range(3))
        draw.text((rng.randrange(1000), rng.randrange(750)), " ".join(rng.choices(WORDS, k=5)), fill=color)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def make_different(png: bytes, number: int) -> bytes:
    """The same picture in a file of other bytes: a text chunk after the header (8 + 25 bytes)."""
    chunk = b"tEXtid\0" + b"%012d" % number
    return png[:33] + struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) + png[33:]


def write_trajectories(folder: Path, count: int, bases: list[bytes]) -> int:
    """Make `count` trajectory folders; returns the number of steps."""
    rng, num_steps = random.Random(0), 0
    for number in range(count):
        task = folder / f"taskShop--extend--{number}"
        task.mkdir(parents=True)
        opening = f"Now given a task: Find product {number}.  Please interact with https://shop.example/ and get it. \n"
        messages: list[dict[str, Any]] = [{"role": "system", "content": "You browse."}]
        for step in range(1, round(rng.triangular(*STEPS)) + 1):
            num_steps += 1
            (task / f"screenshot{step}.png").write_bytes(make_different(rng.choice(bases), num_steps))
            (task / f"accessibility_tree{step}.txt").write_text(_tree(rng))
            text = f"{opening if step == 1 else ''}Observation: please analyze"
            messages.append({"role": "user", "content": [{"type": "text", "text": text}]})
            thought = " ".join(rng.choices(WORDS, k=40))
            messages.append({"role": "assistant", "content": f"Thought: {thought}\n\nAction: Click [{step}]"})
        (task / "interact_messages.json").write_text(json.dumps(messages))
        (task / "agent.log").write_text("INFO - 7\nINFO - finish!!\n")
    return num_steps


def _tree(rng: random.Random) -> str:
    lines = [f"\t[{label}] link '{' '.join(rng.choices(WORDS, k=4))}'" for label in range(2, rng.randrange(30, 90))]
    return "\n".join(["[1] RootWebArea 'Shop'", *lines])


@dataclasses.dataclass(frozen=True)
class Measured:
    """One side at one size."""

    seconds: float
    cpu_seconds: float
    num_bytes: int


def measure(convert: Callable[[], None], tars: Path) -> Measured:
    """Time `convert`, which works in child processes, and weigh the tars that it leaves."""
    os.sync()
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    convert()
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(seconds, cpu, sum(path.stat().st_size for path in tars.glob("*.tar")))


def _run(*command: object) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, *map(str, command)], env=environment, check=True, stdout=subprocess.DEVNULL)


def ours(trajectories: Path, out: Path, num_workers: int, *options: str) -> None:
    """The two commands of the README; `options` are of the second."""
    samples, images, workers = out / "samples.json", out / "images", ("--num_workers", num_workers)
    flags = ("--result_dir", trajectories, "--image_dir", images, "--save_json_file", samples, *workers)
    _run(ROOT / "toolkits" / "convert_trajectories_to_json.py", *flags)
    flags = ("--json_files", samples, "--image_dirs", images, "--save_dir", out / "tars", *workers, *options)
    _run(ROOT / "toolkits" / "convert_to_tar_data.py", *flags)


def published(trajectories: Path, out: Path) -> None:
    """What its two scripts do, in one process."""
    (out / "tars").mkdir(parents=True)
    code = (
        "import sys; from pathlib import Path; from benchmarks.published_converter import to_json, to_tars\n"
        "trajectories, out = map(Path, sys.argv[1:])\n"
        "to_json(trajectories, out / 'images', out / 'samples.json')\n"
        "to_tars(out / 'samples.json', out / 'images', out / 'tars')\n"
    )
    _run("-c", code, trajectories, out)


def same_samples(ours_out: Path, published_out: Path) -> bool:
    """Whether both sides' tars hold the same samples to the byte."""
    shards = read_manifest(ours_out / "tars", verify=True)["shards"]
    left = {s.id: _contents(s) for entry in shards for s in read_shard(ours_out / "tars" / entry["url"])}
    tars = (published_out / "tars").glob("*.tar")
    return left == {s.id: _contents(s) for tar in tars for s in read_legacy_tar(tar)}


def _contents(sample: Sample) -> tuple[list[dict[str, str]], list[bytes]]:
    """Turns and digests of images: those of all samples do not fit into memory."""
    return sample.conversations, [hashlib.sha256(image).digest() for image in sample.images]


def compare(count: int, num_samples: int, sides: dict[str, list[Measured]]) -> dict[str, Any]:
    """A row of the table; ratios are to the published side."""
    row: dict[str, Any] = {"trajectories": count, "samples": num_samples}
    published = sides["published"]
    for name, runs in sides.items():
        row[f"{name}_s"] = Figure.of([run.seconds for run in runs])
        row[f"{name}_cpu_s"] = Figure.of([run.cpu_seconds for run in runs])
        row[f"{name}_samples/s"] = Figure.of([num_samples / run.seconds for run in runs])
        row[f"{name}_MB"] = round(runs[0].num_bytes / 1e6, 1)
        if name != "published":
            row[f"{name}_ratio"] = Figure.times([run.seconds for run in published], [run.seconds for run in runs])
            cpu = [run.cpu_seconds for run in published], [run.cpu_seconds for run in runs]
            row[f"{name}_cpu_ratio"] = Figure.times(*cpu)
            row[f"{name}_bytes_%"] = round(100 * runs[0].num_bytes / published[0].num_bytes, 1)
    return row


def measure_size(count: int, bases: list[bytes], work: Path, config: Config, check: bool) -> dict[str, Any]:
    """Make `count` trajectories in `work` and convert them in each way."""
    trajectories, new_out, old_out = work / "trajectories", work / "ours", work / "published"
    num_samples = write_trajectories(trajectories, count, bases)
    runs: dict[str, list[Measured]] = {"published": [], "ours": [], "sharing": []}
    for repeat in range(config.num_repeats):
        runs["published"].append(measure(lambda: published(trajectories, old_out), old_out / "tars"))
        for name, options in (("ours", ()), ("sharing", ("--share_images",))):
            convert = functools.partial(ours, trajectories, new_out, config.num_workers, *options)
            runs[name].append(measure(convert, new_out / "tars"))
            if check and repeat == 0 and not same_samples(new_out, old_out):
                raise SystemExit(f"{name}: the two sides' samples differ")
            shutil.rmtree(new_out)  # makes room
        shutil.rmtree(old_out, ignore_errors=True)
    return compare(count, num_samples, runs)


def main(config: Config) -> None:
    """Measure all sides at each size and print the table."""
    bases = base_screenshots(config.screenshots)
    rows = []
    with watched(config.num_repeats) as load:
        for count in sorted(config.num_trajectories):
            with tempfile.TemporaryDirectory(dir=config.work_dir or None, prefix="conversion-") as folder:
                rows.append(measure_size(count, bases, Path(folder), config, check=not rows))
    kilobytes = sum(map(len, bases)) // len(bases) // 1000
    sizes = [f"{row['trajectories']} trajectories" for row in rows]
    table = Table([""], sizes, title=f"screenshots of {kilobytes} kB")
    for name in list(rows[0])[1:]:
        table.add(name.replace("_", " "), *(str(row.get(name, "")) for row in rows))
    print_table(table)
    print(load)
    if config.output:
        report = {"config": dataclasses.asdict(config), "load": dataclasses.asdict(load), "rows": plain(rows)}
        write_json(Path(config.output), report)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)

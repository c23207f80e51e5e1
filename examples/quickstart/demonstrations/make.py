"""Make the demonstration data set: python examples/quickstart/demonstrations/make.py

The embedded teacher solves one task of each kind in data/tasks/IL.jsonl; its steps become `shards/` beside this file,
on which `bash training/train_idefics2.sh` trains where it is given nothing else. Screenshots are stored as lossless
WebP, a fifth of the PNGs' size.
"""

import json
import os
import shutil
import sys
from pathlib import Path

from PIL import Image

from common import cli
from common.defaults import ROOT
from common.files import read_json, write_json
from data.task import read_tasks, write_tasks
from elcano.executors.executor import Command, python
from elcano.executors.local import Executor
from elcano.stages.services import embedded_sites, embedded_teacher

HERE = Path(__file__).resolve().parent
WORK = Path("runs/demonstrations")


def main(work: Path) -> None:
    """Collect, convert and pack in the empty folder `work`."""
    shutil.rmtree(work, ignore_errors=True)
    collect(work)
    executor = Executor()
    converter = python(
        "toolkits/convert_trajectories_to_json.py",
        result_dir=work / "trajectories",
        image_dir=work / "images",
        save_json_file=work / "samples.json",
        last_n=1,
        only_success=True,
    )
    executor.run(Command(converter, work / "convert.log"))
    write_json(work / "samples.json", json.loads(json.dumps(read_json(work / "samples.json")).replace(".png", ".webp")))
    for picture in (work / "images").glob("*.png"):
        with Image.open(picture) as image:
            image.convert("RGB").save(picture.with_suffix(".webp"), lossless=True, quality=100, method=6)
    packer = python(
        "toolkits/convert_to_tar_data.py",
        json_files=work / "samples.json",
        image_dirs=work / "images",
        save_dir=HERE / "shards",
    )
    executor.run(Command(packer, work / "pack.log"))


def collect(work: Path) -> Path:
    """The teacher's trajectories, judged by what the sites hold in the end; the working directory is the repository."""
    first = [task for task in read_tasks(ROOT / "data" / "tasks" / "IL.jsonl") if task.id.endswith("--000")]
    write_tasks(work / "tasks.jsonl", first)
    executor = Executor()
    with (
        embedded_sites(executor, work / "sites.log") as port,
        embedded_teacher(executor, work / "teacher.log") as api_base,
    ):
        where = {"test_file": work / "tasks.jsonl", "output_dir": work / "trajectories", "sites_port": port}
        how = {"max_iter": 8, "max_attached_imgs": 1, "headless": True, "judge": "oracle", "seed": 0}
        teacher = {"api_base": api_base, "api_model": "teacher"}
        executor.run(Command(python("collection/run.py", **where, **how, **teacher), work / "collect.log"))
    return work / "trajectories"


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(cli.guarded(main, WORK))

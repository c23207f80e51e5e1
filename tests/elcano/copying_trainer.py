"""Stands in for the trainer of an online run: it takes groups and publishes versions; the weights stay what they were.

python -m tests.elcano.copying_trainer --run_dir RUN --api_localhost URL --groups_per_step 2 --num_versions 2
"""

import argparse
import json
import time
from pathlib import Path

import httpx

from common.files import link_tree
from data.online_run import OnlineRun, read_fates, read_group


def main() -> None:
    """Until there are so many versions."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--run_dir", type=Path)
    parser.add_argument("--api_localhost")
    parser.add_argument("--groups_per_step", type=int)
    parser.add_argument("--num_versions", type=int)
    words = parser.parse_args()
    run = OnlineRun(words.run_dir)
    while (version := run.newest_version()) < words.num_versions:
        fates = read_fates(run.learned)
        ready = [number for number, path in run.groups().items() if number not in fates and read_group(path)]
        taken = ready[: words.groups_per_step]
        if len(taken) < words.groups_per_step:
            time.sleep(0.2)
            continue
        hidden = run.weights / f".{version + 1:06d}.tmp"
        link_tree(run.version(version), hidden)
        run.learned.parent.mkdir(exist_ok=True)
        with open(run.learned, "a") as file:
            for number in taken:
                file.write(json.dumps({"group": number, "version": version, "fate": "learned"}) + "\n")
        hidden.rename(run.version(version + 1))
        take_in(words.api_localhost, run.version(version + 1))


def take_in(predict: str, folder: Path) -> None:
    """Have the server hold it; one that is down begins with it."""
    try:
        httpx.post(predict.replace("/predict", "/reload"), json={"model_name_or_path": str(folder)}, timeout=60)
    except httpx.HTTPError:
        return


if __name__ == "__main__":
    main()

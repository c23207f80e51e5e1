"""Samples of trajectories -> training samples of a model that says whether an action changed the screen (Digi-Q).

    python toolkits/make_representation_data.py --json_files runs/1/samples.json --image_dirs runs/1/images \\
        --save_json_file runs/1/representation/samples.json

Each is a sample's own conversation, then the question, answered YES where the next step's screenshot differs: where at
a quarter of the size the mean squared difference of pixels (0 to 255) is above --threshold. Last steps are left out:
nothing shows what came after. From there as a policy: convert_to_tar_data.py, train_idefics2.sh, then
`score.sh --write features --after_question true`. Source: Digi-Q (arXiv 2502.15760), construct_sft_data.py.
"""

import dataclasses
import json
from collections import Counter
from pathlib import Path
from typing import Annotated

import numpy as np

from common import cli
from common.errors import UserError
from common.files import write_atomic
from common.options.limits import Checked, at_least
from data.images import opened
from data.samples.changed_screen import with_question
from data.samples.reward_model import NO, YES
from data.samples.rewarded_step import place_fields
from data.shards.shard import Sample
from toolkits.shards.sample_records import read_samples


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Make training samples of a model whose features are of actions."""

    json_files: tuple[Path, ...]
    """Sample files of convert_trajectories_to_json.py."""
    image_dirs: tuple[Path, ...]
    """Their images."""
    save_json_file: Path
    """The samples' JSON file."""
    threshold: Annotated[float, at_least(0)] = 30.0
    """A mean squared difference above it is a change."""


def main(config: Config) -> None:
    """Convert, print the counts."""
    samples = {}
    for sample in read_samples(config.json_files, config.image_dirs):
        place = place_fields(sample.id)
        samples[place["trajectory"], place["step"]] = sample
    made = []
    for (trajectory, step), sample in samples.items():
        if following := samples.get((trajectory, step + 1)):
            answer = YES if difference(screenshot(sample), screenshot(following)) > config.threshold else NO
            turns = with_question(sample.conversations, answer)
            made.append({"id": sample.id, "images": [path.name for path in sample.images], "conversations": turns})
    counts = Counter(sample["conversations"][-1]["value"] for sample in made)
    if len(counts) < 2:
        raise UserError(f"of {len(made)} actions {counts[YES]} changed the screen; both kinds are needed")
    config.save_json_file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(config.save_json_file, json.dumps(made, indent=2))
    print(f"{counts[YES]} actions changed the screen, {counts[NO]} did not: {config.save_json_file}")


def screenshot(sample: Sample) -> Path:
    """A sample's newest."""
    newest = sample.images[-1] if sample.images else None
    if not isinstance(newest, Path):
        raise UserError(f"sample {sample.id}: shows no screenshot, so nothing tells what an action changed")
    return newest


def difference(before: Path, after: Path) -> float:
    """The mean squared difference of two screenshots at a quarter of their size; of other sizes, infinite."""
    pixels = []
    for path in (before, after):
        with opened(path) as image:
            small = image.convert("RGB").resize((max(1, image.width // 4), max(1, image.height // 4)))
        pixels.append(np.asarray(small, dtype=float))
    first, second = pixels
    return float(np.square(first - second).mean()) if first.shape == second.shape else float("inf")


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)

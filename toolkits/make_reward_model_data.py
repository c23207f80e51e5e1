"""Judged trajectories -> training samples of an outcome reward model, which answers YES or NO.

    python toolkits/make_reward_model_data.py --result_dirs runs/IL/trajectories runs/optim-1/trajectories \\
        --image_dir runs/orm/images --save_json_file runs/orm/samples.json

From there as a policy: convert_to_tar_data.py, hf2mg.sh, train_idefics2.sh, mg2hf.sh, then served and asked by
`--judge orm --eval_score_url http://host:8080/score`; `examples/reward_model/run.sh` does it all. Left out are
trajectories without an answer: they have failed without any judge. Source: WebRL (arXiv 2411.02337).
"""

import dataclasses
import json
import random
from pathlib import Path
from typing import Any

from common import cli
from common.errors import UserError
from common.files import write_atomic
from data.outcome import Verdict
from data.samples.reward_model import NO, YES, reward_model_turn
from data.trajectory import is_complete, list_trajectories, read_trajectory
from toolkits.convert_trajectories_to_json import place_image

_LABELS = {Verdict.SUCCESS: YES, Verdict.FAILURE: NO}


@dataclasses.dataclass(frozen=True)
class Config:
    """Make training samples of an outcome reward model."""

    result_dirs: tuple[Path, ...]
    """Folders of judged trajectories."""
    image_dir: Path
    """Where the last screenshots go."""
    save_json_file: Path
    """The samples' JSON file."""
    balance: bool = True
    """Leave out trajectories of the commoner label until both are equally many."""
    seed: int = 0
    """Seed of what is left out."""


def main(config: Config) -> None:
    """Convert, print the counts."""
    samples: dict[str, list[dict[str, Any]]] = {YES: [], NO: []}
    for number, result_dir in enumerate(config.result_dirs):
        for folder in list_trajectories(result_dir):
            if is_complete(folder) and (made := make_sample(folder, number, config.image_dir)) is not None:
                samples[made["conversations"][1]["value"]].append(made)
    counts = {label: len(found) for label, found in samples.items()}
    if not all(counts.values()):
        raise UserError(f"a reward model needs both successes and failures, here are {counts[YES]} and {counts[NO]}")
    most = min(counts.values()) if config.balance else max(counts.values())
    rng = random.Random(config.seed)
    chosen = [sample for found in samples.values() for sample in rng.sample(found, min(most, len(found)))]
    chosen.sort(key=lambda sample: sample["id"])
    write_atomic(config.save_json_file, json.dumps(chosen, indent=2))
    print(f"{counts[YES]} successes and {counts[NO]} failures, {len(chosen)} samples: {config.save_json_file}")


def make_sample(folder: Path, number: int, image_dir: Path) -> dict[str, Any] | None:
    """The sample of a trajectory that a reward model would be asked about and that has a verdict; None of any other."""
    trajectory = read_trajectory(folder)
    label = _LABELS.get(trajectory.outcome.verdict) if trajectory.outcome else None
    if label is None or not trajectory.finished or not trajectory.steps:
        return None
    identifier = f"orm--{number}--{folder.name}"
    turn = reward_model_turn(trajectory.ques, trajectory)
    place_image(trajectory.screenshot(trajectory.steps[-1].number), image_dir / f"{identifier}.png")
    conversations = [{"from": "human", "value": turn.text}, {"from": "gpt", "value": label}]
    return {"id": identifier, "images": [f"{identifier}.png"], "conversations": conversations}


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)

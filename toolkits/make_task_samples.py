"""Tasks that nobody has tried yet -> samples that a critic can be asked about: each task on its site's first page.

    python toolkits/make_task_samples.py --task_file runs/2/proposed.jsonl --result_dir runs/1/trajectories \\
        --image_dir runs/2/proposals/images --save_json_file runs/2/proposals/samples.json

The first page is the first step of a trajectory that began on the same site; tasks on other sites are left out. The
reply and the reward of a sample say nothing: what is of use are the values of its state. Source: WebRL (arXiv
2411.02337), whose critic scores new tasks on the start pages of webrl/data/htmls.json.
"""

import dataclasses
import json
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from common import cli
from common.errors import UserError
from common.files import write_atomic
from common.options.limits import at_least
from data.samples.rewarded_step import first_state, reward_fields
from data.samples.turn_samples import samples_of
from data.task import read_tasks
from data.trajectory import Trajectory, is_complete, list_trajectories, read_trajectory
from toolkits.convert_trajectories_to_json import place_image


@dataclasses.dataclass(frozen=True)
class Config:
    """Make samples of the first states of tasks."""

    task_file: Path
    """The tasks."""
    result_dir: Path
    """Trajectories on the same sites."""
    image_dir: Path
    """Where the screenshots go."""
    save_json_file: Path
    """The samples' JSON file; their ids are `data.samples.rewarded_step.first_state` of the tasks'."""
    last_n: Annotated[int, at_least(0)] = 3
    """Screenshots shown at each step; the collector's `--max_attached_imgs`."""


def main(config: Config) -> None:
    """Convert, print the counts."""
    tasks, begun = read_tasks(config.task_file), beginnings(config.result_dir)
    made = []
    for task in tasks:
        if trajectory := begun.get(site(task.web)):
            asked = dataclasses.replace(trajectory, ques=task.ques)
            sample, screenshot = samples_of(asked, 0, config.last_n)[0]
            image = f"{trajectory.task_id}.png"
            place_image(screenshot, config.image_dir / image)
            identifier = first_state(task.id)
            turns, images = sample["conversations"], [image] * len(sample["images"])
            rewards = reward_fields([identifier], success=False)[0]
            made.append({"id": identifier, "images": images, "conversations": turns, **rewards})
    if not made:
        raise UserError(f"{config.result_dir}: no trajectory began on a site of {config.task_file}")
    config.save_json_file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(config.save_json_file, json.dumps(made, indent=2))
    print(f"{len(made)} of {len(tasks)} tasks: {config.save_json_file}")


def beginnings(result_dir: Path) -> dict[str, Trajectory]:
    """A trajectory that began there, by site."""
    found: dict[str, Trajectory] = {}
    for folder in list_trajectories(result_dir):
        if is_complete(folder) and (trajectory := read_trajectory(folder)).steps:
            found.setdefault(site(trajectory.web), trajectory)
    return found


def site(web: str) -> str:
    """An address's host and port: WebArena's sites are ports of one host. Of a name below `localhost` the host alone:
    the port of embedded websites differs from run to run."""
    parts = urlsplit(web)
    host = parts.hostname or ""
    return host if host.endswith(".localhost") else parts.netloc.rpartition("@")[2].lower() or web


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)

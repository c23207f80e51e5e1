"""What models are asked about actions and about tasks: whether the screen changed; what a first state is worth."""

import json
import shutil
from pathlib import Path

import pytest

from common.errors import UserError
from common.files import read_json
from data.samples.changed_screen import QUESTION
from data.task import Task, write_tasks
from tests.toolkits.trajectories import write_trajectory
from toolkits import convert_trajectories_to_json, make_representation_data, make_task_samples


def converted(results: Path, folder: Path) -> dict[str, tuple[Path, ...]]:
    samples = folder / "samples.json"
    config = convert_trajectories_to_json.Config(str(results), str(folder / "images"), str(samples), num_workers=1)
    convert_trajectories_to_json.main(config)
    return {"json_files": (samples,), "image_dirs": (folder / "images",)}


def test_an_action_is_asked_about_where_the_next_screenshot_tells(tmp_path: Path) -> None:
    folder = write_trajectory(tmp_path / "results", num_steps=4)
    shutil.copyfile(folder / "screenshot2.png", folder / "screenshot3.png")
    paths, output = converted(tmp_path / "results", tmp_path), tmp_path / "representation" / "samples.json"
    make_representation_data.main(make_representation_data.Config(**paths, save_json_file=output))
    made, own = read_json(output), read_json(tmp_path / "samples.json")
    assert [sample["conversations"][-1]["value"] for sample in made] == ["YES", "NO", "YES"]
    assert all(sample["conversations"][-2] == {"from": "human", "value": QUESTION} for sample in made)
    assert [sample["conversations"][:-2] for sample in made] == [sample["conversations"] for sample in own[:3]]
    config = make_representation_data.Config(**paths, save_json_file=output, threshold=1e9)
    with pytest.raises(UserError, match="of 3 actions 0 changed the screen; both kinds are needed"):
        make_representation_data.main(config)


def test_a_task_that_nobody_tried_is_shown_on_its_sites_first_page(tmp_path: Path) -> None:
    write_trajectory(tmp_path / "results", num_steps=2)
    tasks = [Task("Shop-x--1", "Find a boot.", "http://shop.localhost:9/"), Task("Else--1", "Go.", "http://else.org/")]
    write_tasks(tmp_path / "tasks.jsonl", tasks)
    paths = (tmp_path / "tasks.jsonl", tmp_path / "results", tmp_path / "images", tmp_path / "made" / "samples.json")
    make_task_samples.main(make_task_samples.Config(*paths))
    [sample] = json.loads((tmp_path / "made" / "samples.json").read_text())
    assert (sample["id"], sample["done"], sample["reward"]) == ("Shop-x--1--r00--step01", True, 0.0)
    shown = sample["conversations"][0]["value"]
    assert "Find a boot." in shown and "Shop 1" in shown and "shoe." not in shown
    assert (tmp_path / "images" / sample["images"][0]).exists()
    write_tasks(tmp_path / "tasks.jsonl", tasks[1:])
    with pytest.raises(UserError, match="no trajectory began on a site of"):
        make_task_samples.main(make_task_samples.Config(*paths))


def test_ports_of_one_host_are_sites_of_their_own(tmp_path: Path) -> None:
    """As WebArena's are: a shopping page says nothing of what a task on the forum is worth."""
    shop, forum, git = (f"http://webarena.org:{port}/" for port in (7770, 9999, 8023))
    write_trajectory(tmp_path / "results", "Shop--3", num_steps=2, web=shop)
    write_trajectory(tmp_path / "results", "Forum--4", num_steps=3, web=forum)
    tasks = [Task("Forum--9", "Post.", f"{forum}f/books"), Task("Git--1", "Star.", git), Task("Shop--9", "Buy.", shop)]
    write_tasks(tmp_path / "tasks.jsonl", tasks)
    paths = (tmp_path / "tasks.jsonl", tmp_path / "results", tmp_path / "images", tmp_path / "samples.json")
    make_task_samples.main(make_task_samples.Config(*paths))
    shown = {sample["id"]: sample["images"] for sample in read_json(tmp_path / "samples.json")}
    assert shown == {"Forum--9--r00--step01": ["Forum--4.png"], "Shop--9--r00--step01": ["Shop--3.png"]}

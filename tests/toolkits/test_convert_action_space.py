"""Trajectories in the words of another action space, and back."""

import dataclasses
import io
import shutil
from pathlib import Path

import pyarrow
import pytest
from PIL import Image

from common.errors import UserError
from common.files import read_json
from data.action_spaces import action_space
from data.actions.screen import Screen
from data.outcome import Outcome, Verdict
from data.samples.turn_samples import samples_of
from data.shards.columns import digest_of, write_columns
from data.task import Task
from data.trajectory import FINISHED, TrajectoryStep, read_trajectory, write_outcome
from data.trajectory_writer import TrajectoryWriter
from toolkits import convert_to_tar_data as tar_tool
from toolkits import convert_trajectories_to_json as samples_tool
from toolkits.convert_action_space import Config, main
from training.samples.stored_sample import read_in_order

TREE = "[1] RootWebArea 'Shop'\n\t[2] textbox 'Search'\n\t[3] link 'Shoe'"
BOXES = {1: [0, 0, 10, 10], 2: [100, 100, 200, 40], 3: [320, 100, 60, 40]}
SCREEN = Screen((1024, 768), (2048, 1536))
REPLIES = ("Type [2]; shoe", "Scroll [WINDOW]; down", "Click [3]", "ANSWER; 5 EUR")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    picture = io.BytesIO()
    Image.new("RGB", (2048, 1536)).save(picture, "PNG")
    for name, replies in (("Shop--1", REPLIES), ("Shop--2", ("Click [9]", "ANSWER; 5"))):
        provenance = {"viewport": [1024, 768], "observation": "tree", "prompt": "trained", "max_attached_imgs": 1}
        task = Task(name, "Find it.", "http://shop/", eval={"eval_types": ["string_match"]})
        writer = TrajectoryWriter(tmp_path / "old" / f"task{name}", task, provenance, "You browse.")
        for number, action in enumerate(replies, start=1):
            writer.write_observation(number, TREE, None, picture.getvalue(), BOXES)
            step = TrajectoryStep(number, f"http://shop/{number}", f"Thought: so\n\nAction: {action}", token_ids=[1])
            writer.add_step(step, TREE)
        writer.finish(FINISHED, "5 EUR")
        write_outcome(writer.folder, Outcome(Verdict.SUCCESS, judge="oracle"))
    return tmp_path / "old"


@pytest.mark.parametrize("space", ["qwen_computer_use", "openwebrl", "webgym", "ui_tars"])
def test_there_and_back(results: Path, tmp_path: Path, space: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(Config(results, tmp_path / "points", space))
    said = capsys.readouterr().out
    assert "taskShop--2: left out, where element 9 lies is not known" in said and "1 rewritten" in said
    points = read_trajectory(tmp_path / "points" / "taskShop--1")
    assert points.provenance["action_space"] == space and points.outcome.success and points.answer == "5 EUR"
    typed = points.steps[0]
    assert typed.token_ids is None and typed.shown.startswith("Tabs of the browser:")
    assert typed.actions[0]["css"][0] == pytest.approx([200, 120], abs=0.8)
    assert typed.actions[0]["screenshot"] == [2048, 1536]
    assert points.steps[1].feedback == "The tab is at http://shop/2 now."
    parsed = action_space(space).parse(typed.reply, SCREEN)
    assert [type(action).__name__ for action in parsed.actions] == [record["kind"] for record in typed.actions]

    sample = samples_of(points, 1, 1)[1][0]  # what training reads
    said = "".join(turn["value"] for turn in sample["conversations"])
    assert "The tab is at" in said and "Tabs of the browser:" in said and "RootWebArea" not in said

    main(Config(tmp_path / "points", tmp_path / "numbers", "webvoyager"))
    old, new = (read_trajectory(path / "taskShop--1") for path in (results, tmp_path / "numbers"))
    assert [step.reply for step in new.steps] == [step.reply for step in old.steps]
    assert new.steps == [dataclasses.replace(step, token_ids=None) for step in old.steps]
    main(Config(results, tmp_path / "points", space))
    assert "1 there already" in capsys.readouterr().out


@pytest.mark.parametrize(("at_points", "last_n", "steps"), [(True, 4, [4]), (True, 3, [3, 1]), (False, 4, [1] * 4)])
def test_steps_at_points_become_one_sample(
    results: Path, tmp_path: Path, at_points: bool, last_n: int, steps: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    """As many as keep all their screenshots; beside trees each step stays a sample. Shards hold all their images."""
    main(Config(results, tmp_path / "points", "ui_tars"))
    source, file, images = tmp_path / "points" if at_points else results, tmp_path / "x.json", tmp_path / "images"
    shutil.rmtree(results / "taskShop--2")
    config = samples_tool.Config(str(source), str(images), str(file), last_n=last_n, whole_trajectories=True)
    samples_tool.main(config)
    assert f"4 steps in {len(steps)} samples; a step has one of its own where" in capsys.readouterr().out
    assert [1 + len(sample.get("earlier_steps", ())) for sample in read_json(file)] == steps
    trajectory = read_trajectory(source / "taskShop--1")
    expected = [sample for sample, _ in samples_of(trajectory, 1, last_n)]
    tar_tool.main(tar_tool.Config((str(file),), (str(images),), str(tmp_path / "shards"), num_workers=1))
    found = sorted(read_in_order(tmp_path / "shards"), key=lambda one: one.id)
    assert [one.fields["conversations"] for one in found] == [one["conversations"] for one in expected]
    assert [len(one.find_images()) for one in found] == [len(one["images"]) for one in expected]
    assert [one.fields["reward"] for one in found] == [0.0, 0.0, 0.0, 1.0]
    if not at_points:
        return
    rows = [
        {"id": one.id, "digest": digest_of(one.fields["conversations"]), "weight": float(number == 0)}
        for number, one in enumerate(found)
    ]
    kinds = {"id": pyarrow.string(), "digest": pyarrow.string(), "weight": pyarrow.float64()}
    write_columns(tmp_path / "weight.parquet", [rows], pyarrow.schema(kinds), {})
    given = {"json_files": (str(file),), "image_dirs": (str(images),), "num_workers": 1}
    weights = str(tmp_path / "weight.parquet")
    tar_tool.main(tar_tool.Config(**given, save_dir=str(tmp_path / "weighted"), weights=weights))
    assert len(list(read_in_order(tmp_path / "weighted"))) == steps[0]  # one step of the whole has a weight
    with pytest.raises(UserError, match="is a whole trajectory; convert without --whole_trajectories"):
        tar_tool.main(tar_tool.Config(**given, save_dir=str(tmp_path / "legacy"), legacy=True))


def test_to_html_and_back(results: Path, tmp_path: Path) -> None:
    """Elements keep their names, so boxes are not asked for; what was read is HTML, without screenshots if wanted."""
    main(Config(results, tmp_path / "html", "webrl"))
    html = read_trajectory(tmp_path / "html" / "taskShop--1")
    assert html.provenance["action_space"] == "webrl" and html.outcome.success
    assert html.steps[0].reply == '# Note: so\ndo(action="Search", argument="shoe", element="2")'
    assert html.steps[1].feedback == "The tab is at http://shop/2 now." and html.steps[1].actions is None
    assert '<a id="3"> Shoe </a>' in html.steps[1].shown
    sample = samples_of(html, 1, 0)[1][0]
    said = "".join(turn["value"] for turn in sample["conversations"])
    assert sample["images"] == [] and '<a id="3"> Shoe </a>' in said and "<image>" not in said
    assert 'do(action="Search"' in said and "RootWebArea" not in said
    assert read_trajectory(tmp_path / "html" / "taskShop--2").steps[0].reply.endswith('element="9")')

    main(Config(tmp_path / "html", tmp_path / "numbers", "webvoyager"))
    for name in ("taskShop--1", "taskShop--2"):
        old, new = (read_trajectory(path / name) for path in (results, tmp_path / "numbers"))
        assert new.steps == [dataclasses.replace(step, token_ids=None) for step in old.steps]

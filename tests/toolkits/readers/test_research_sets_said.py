"""Any action space says an imported set; its samples and shards hold the replies, and a policy learns from them."""

import json
from pathlib import Path

import pytest

from common.errors import UserError
from data.action_spaces import action_space
from data.actions.screen import Screen
from data.samples.turn_samples import samples_of
from data.trajectory import Trajectory, list_trajectories, read_trajectory
from tests.tiny import qwen3_vl
from tests.toolkits.research import RESEARCH
from tests.toolkits.research.expected import imported
from tests.toolkits.research.screens import SIZE
from tests.training.conftest import train
from toolkits import convert_action_space, import_data
from toolkits import convert_to_tar_data as tar_tool
from toolkits import convert_trajectories_to_json as samples_tool
from toolkits.model_checkpoints_convertor import convert
from training.samples.stored_sample import read_in_order

SAID = {
    "qwen_computer_use": (4, 7, 4, 2),
    "openwebrl": (4, 7, 4, 2),
    "ui_tars": (4, 7, 3, 2),
    "webgym": (3, 6, 2, 2),
    "androidworld": (3, 8, 2, 2),
    "webvoyager": (3, 4, 2, 0),
    "webrl": (3, 4, 2, 0),
}
"""How many steps of four sets a space has words for: of numbers none where no tree shows them."""


@pytest.mark.parametrize("space", SAID)
def test_any_action_space_says_a_set(space: str, tmp_path: Path) -> None:
    """At the same points, to a pixel."""
    spoken, said = action_space(space), []
    for name in ("multimodal_mind2web", "android_control", "agentnet", "os_atlas"):
        folder, count, trajectories = tmp_path / name / "set", 0, []
        if name == "os_atlas" and spoken.scale is None:
            with pytest.raises(UserError, match="no trajectories"):
                imported(name, folder, space)
        else:
            trajectories = imported(name, folder, space)
        for trajectory in trajectories:
            for step in trajectory.steps:
                [*recorded] = [at for one in step.actions for at in one["css"]]
                parsed = spoken.parse(step.reply, Screen(SIZE, SIZE)).actions
                points = [at for one in parsed for key in ("at", "start", "end") if (at := getattr(one, key, None))]
                if spoken.scale and recorded:
                    assert [points[0].x, points[0].y] == pytest.approx(recorded[0], abs=1)
                count += 1
        said.append(count)
    assert tuple(said) == SAID[space]


def test_an_imported_set_can_be_said_anew(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """By numbers it came, at points it goes."""
    imported("multimodal_mind2web", tmp_path / "set")
    convert_action_space.main(convert_action_space.Config(tmp_path / "results", tmp_path / "points", "ui_tars"))
    assert "1 rewritten" in capsys.readouterr().out
    [folder] = list_trajectories(tmp_path / "points")
    at = [step.actions[0]["css"][0] for step in read_trajectory(folder).steps]
    assert at == [pytest.approx(point, abs=1) for point in ([50, 20], [120, 20], [50, 90])]


def shards_of(name: str, space: str, folder: Path) -> tuple[Path, list[Trajectory]]:
    """Imported, made into samples and packed, as a user does it."""
    trajectories = imported(name, folder / "set", space)
    given = {"result_dir": str(folder / "results"), "image_dir": str(folder / "images"), "num_workers": 1}
    samples_tool.main(samples_tool.Config(**given, save_json_file=str(folder / "s.json"), only_success=True))
    tars = {"json_files": (str(folder / "s.json"),), "image_dirs": (str(folder / "images"),), "num_workers": 1}
    tar_tool.main(tar_tool.Config(**tars, save_dir=str(folder / "shards")))
    return folder / "shards", trajectories


BY_NUMBERS, AT_POINTS = ("multimodal_mind2web", "webvoyager"), ("android_control", "qwen_computer_use")


@pytest.mark.parametrize(("name", "space"), [BY_NUMBERS, AT_POINTS])
def test_shards_hold_the_replies_of_the_space(name: str, space: str, tmp_path: Path) -> None:
    """Each with its screenshots."""
    shards, trajectories = shards_of(name, space, tmp_path)
    found = list(read_in_order(shards))
    replies = {step.reply for trajectory in trajectories for step in trajectory.steps}
    assert {one.fields["conversations"][-1]["value"] for one in found} == replies and len(found) == len(replies)
    assert all(one.find_images() for one in found)


@pytest.mark.slow
def test_a_policy_is_trained_on_a_set(tmp_path: Path) -> None:
    """A tiny one that points, by the scripts that users type: what it is shown it learns."""
    shards, _ = shards_of(*AT_POINTS, tmp_path)
    policy, megatron = qwen3_vl.build_policy(tmp_path / "hf"), tmp_path / "megatron"
    convert.main(convert.Config(direction="hf2mg", load_path=policy, save_path=megatron))
    options = {"tp": 1, "batch_size": 1, "global_batch_size": 3, "train_iters": 6, "lr": 1e-3, "lr_warmup_iters": 1}
    losses = train("qwen3_vl", shards, megatron, tmp_path / "run", **options)
    assert len(losses) == 6 and losses[-1] < losses[0]


BOXES = {
    "os_atlas": [[0, 0, 100, 100], [20, 20, 60, 40]],
    "uground": [[20, 20, 60, 40]],
    "screenspot": [[20, 10, 60, 30], [100, 0, 200, 50], [100, 10, 140, 30]],
}
RESEARCH_ASKS = ("the lamp", "the menu", "the clock")


@pytest.mark.parametrize("name", ["os_atlas", "uground", "screenspot"])
def test_grounding_needs_no_folders(name: str, tmp_path: Path) -> None:
    """Its samples are those of the trajectories of one step, on the images that are there."""
    folder, file = tmp_path / "set", tmp_path / "grounding.json"
    trajectories = imported(name, folder)
    files = tuple(str(path) for path in folder.iterdir() if path.suffix in (".json", ".parquet"))
    import_data.main(import_data.Config(name, files, str(folder), str(file)))
    samples = json.loads(file.read_text())
    same = [samples_of(trajectory, 1, 1)[0][0]["conversations"] for trajectory in trajectories]
    assert sorted(map(json.dumps, (one["conversations"] for one in samples))) == sorted(map(json.dumps, same))
    assert all((folder / image).is_file() for one in samples for image in one["images"])
    num_pictures = 2 if name == "screenspot" else 1  # of which one is asked about twice
    assert len({image for one in samples for image in one["images"]}) == num_pictures
    told = [one["grounding"] for one in samples if "grounding" in one]
    boxes = [[round(side, 2) for side in one["box"]] for one in told]
    assert sorted(boxes) == BOXES[name] and all(one["ques"] in RESEARCH_ASKS for one in told)


def test_several_steps_are_no_sample(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    files = tuple(str(folder / file) for file in RESEARCH["aguvis"](folder))
    with pytest.raises(UserError, match="an episode of 6 steps; give --result_dir"):
        import_data.main(import_data.Config("aguvis", files, str(folder), str(tmp_path / "s.json")))
    assert not (tmp_path / "s.json").exists()

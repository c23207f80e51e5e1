"""The field's sets of demonstrations become canonical actions; what none can be is told."""

import json
from collections import Counter
from pathlib import Path

import pytest

from common.errors import UserError
from data.trajectory import list_trajectories, read_trajectory
from tests.toolkits.research import RESEARCH
from tests.toolkits.research.expected import done, expected, imported, space_of
from tests.toolkits.research.screens import TASK, pictures
from toolkits import import_data
from toolkits.readers.detect import detect
from viewer.answers import Answers
from viewer.catalog.index import Index

TOLD = {
    "multimodal_mind2web": "steps of HoverAt (1), steps that the set counts and these files do not hold (2)",
    "aguvis": "steps of open_app (1)",
    "android_control": "episodes without a step that can be said (1)",
    "os_atlas": "episodes without a step that can be said (1), steps of a point outside of its screenshot (1)",
    "agentnet": "steps of os.system (1), steps of pyautogui.keyDown (1)",
    "weblinx": "load that a click brought about (1), steps of paste (1), words of the navigator before the end (1)",
    "playwright_trace": "steps of click that failed (1), steps of fill at a place that is not told (1)",
    "os_genesis_web": "steps of hover (1)",
    "fara": "steps of pause_and_memorize_fact (1)",
}


@pytest.mark.parametrize("name", RESEARCH)
def test_what_was_done_is_our_canonical_record(name: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert done(name, imported(name, tmp_path / "set", space_of(name))) == expected(name)
    told = capsys.readouterr().err
    assert (TOLD[name] in told) if name in TOLD else not told


def test_elements_are_said_by_number_and_kept_with_their_page(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """The reply, the tree with its names, the boxes and the HTML; that a text is typed with ENTER is told."""
    [trajectory] = imported("multimodal_mind2web", tmp_path / "set")
    replies = [step.reply.partition("\n\n")[2] for step in trajectory.steps]
    assert replies == ["Action: Type [4]; blue lamp", "Action: Type [5]; Blue", "Action: Click [3]"]
    assert "\t\t[3] link 'Blue lamp'" in trajectory.trees[0] and "alert" not in trajectory.trees[0]
    assert json.loads((trajectory.folder / "boxes1.json").read_text())["4"] == [10, 10, 80, 20]
    assert "alert(1)" in (trajectory.folder / "html1.txt").read_text() and trajectory.outcome.success
    assert (
        "said otherwise: typed with ENTER, which this space always presses after a text (1)" in capsys.readouterr().err
    )


@pytest.mark.parametrize("name", RESEARCH)
def test_a_set_is_known_by_its_looks(name: str, tmp_path: Path) -> None:
    for file in RESEARCH[name](tmp_path):
        assert detect(tmp_path / file) == name


@pytest.mark.parametrize("name", ["multimodal_mind2web", "agentnet", "weblinx"])
def test_people_see_it(name: str, tmp_path: Path) -> None:
    """In words, and where it was done."""
    [trajectory] = imported(name, tmp_path / "set")
    index = Index((tmp_path / "results",), tmp_path / "index.sqlite")
    index.refresh()
    [run] = json.loads(Answers(index).answer("state", {}))["runs"]
    shown = Answers(index).answer("trajectory", {"set": run["sets"][0], "name": trajectory.folder.name}).decode()
    assert TASK in shown and all(one["kind"] in shown for step in trajectory.steps for one in step.actions)


def test_what_came_before_a_step_is_told(tmp_path: Path) -> None:
    """Steps of AGUVIS whose images have no numbers are episodes of their own."""
    pictures(tmp_path, "uid.png")
    asked = f"<image>\nInstruction: {TASK}\n\nPrevious actions:\nStep 1: Open the shop."
    turns = [{"from": "human", "value": asked}, {"from": "gpt", "value": "pyautogui.click(x=0.5, y=0.5)"}]
    (tmp_path / "x.json").write_text(json.dumps([{"image": "uid.png", "conversations": turns}]))
    results = str(tmp_path / "results")
    import_data.main(import_data.Config("aguvis", (str(tmp_path / "x.json"),), str(tmp_path), result_dir=results))
    [folder] = list_trajectories(results)
    assert read_trajectory(folder).steps[0].feedback == "Previous actions:\nStep 1: Open the shop."


MISSING = {
    "aguvis": ("coat/7_1.jpg", {"the lamp": 1, "the menu": 1}),
    "aitw": ("general/1_1.png", {"Open the menu.": 4}),
    "android_control": ("7_0.png", {TASK: 7}),
    "fara": ("runs/shop_1/screenshot1.png", {"Look for a lamp.": 1}),
    "os_genesis": ("0.png", {TASK: 2}),
}
"""A screenshot that is lost, and the steps of the tasks that are read all the same."""


@pytest.mark.parametrize("name", [*MISSING, "agentnet", "gui_odyssey"])
def test_a_screenshot_that_is_not_there_costs_its_episode_alone(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Those of one episode alone have nothing left, which is said."""
    folder, results = tmp_path / "set", tmp_path / "results"
    folder.mkdir()
    files = tuple(str(folder / file) for file in RESEARCH[name](folder))
    lost, kept = MISSING.get(name) or (next(folder.glob("*.png")).name, {})
    (folder / lost).unlink()
    config = import_data.Config(name, files, str(folder), result_dir=str(results), action_space=space_of(name))
    if kept:
        import_data.main(config)
        read = [read_trajectory(one) for one in list_trajectories(results)]
        assert Counter(one.ques for one in read for _ in one.steps) == kept
    else:
        with pytest.raises(UserError, match="no trajectories"):
            import_data.main(config)
    assert "episodes of which a screenshot is not there (1)" in capsys.readouterr().err

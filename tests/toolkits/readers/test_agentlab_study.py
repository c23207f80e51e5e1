"""Our trajectories as AgentLab's experiments: what its own readers look for is there, in BrowserGym's calls."""

import dataclasses
import gzip
import json
import pickletools
from pathlib import Path

import pytest

from data.action_spaces import action_space
from data.actions.point_action import ActionRecord
from data.actions.screen import Screen
from data.outcome import Verdict
from data.trajectory import INVALID, TrajectoryStep, read_outcome, read_trajectory
from tests.toolkits.readers.test_atif import exported, imported
from tests.toolkits.trajectories import write_trajectory
from toolkits.readers.detect import detect
from toolkits.writers.agentlab import _action

SCREEN = Screen((1000, 1000), (1000, 1000))
BY_NUMBERS = {
    "Click [3]": "click('3')",
    "Type [2]; it's": "fill('2', \"it's\")\npress('2', 'Enter')",
    "Scroll [WINDOW]; up": "scroll(0, -667)",
    "GoBack": "go_back()",
    "Wait": "noop()",
    "Restart": "goto('http://shop.example/')",
    "ANSWER; blue": "send_msg_to_user('blue')",
    "no action of ours": "noop()",
}
AT_POINTS = {
    '{"action": "left_click", "coordinate": [20, 30]}': "mouse_click(20.0, 30.0)",
    '{"action": "double_click", "coordinate": [20, 30]}': "mouse_dblclick(20.0, 30.0)",
    '{"action": "right_click", "coordinate": [20, 30]}': "mouse_click(20.0, 30.0, 'right')",
    '{"action": "mouse_move", "coordinate": [20, 30]}': "mouse_move(20.0, 30.0)",
    '{"action": "type", "text": "a\\n"}': "keyboard_type('a')\nkeyboard_press('Enter')",
    '{"action": "key", "keys": ["ctrl", "c"]}': "keyboard_press('Control+c')",
    '{"action": "scroll", "pixels": -300}': "scroll(0, 300)",
}


@pytest.mark.parametrize("said", BY_NUMBERS)
def test_what_is_done_by_numbers(said: str) -> None:
    step = TrajectoryStep(1, url="", reply=f"Thought: So.\n\nAction: {said}")
    assert _action(step, "http://shop.example/") == BY_NUMBERS[said]


@pytest.mark.parametrize("said", AT_POINTS)
def test_what_is_done_at_points(said: str) -> None:
    space = action_space("qwen_computer_use")
    assert space.scale
    reply = f'<tool_call>{{"name": "computer_use", "arguments": {said}}}</tool_call>'
    records = [
        dataclasses.asdict(ActionRecord.of(space.name, space.scale, SCREEN, one))
        for one in space.parse(reply, SCREEN).actions
    ]
    assert _action(TrajectoryStep(1, url="", reply=reply, actions=records), "") == AT_POINTS[said]


def test_our_reader_of_agentlab_takes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours = write_trajectory(tmp_path / "ours", "Shop--3", num_steps=3)
    out = exported(tmp_path, tmp_path / "ours", "agentlab")
    assert "final pages, which are not known (1)" in capsys.readouterr().err
    [experiment] = out.iterdir()
    assert detect(experiment) == "agentlab"
    assert json.loads((experiment / "summary_info.json").read_text())["n_steps"] == 3
    before, back = read_trajectory(ours), imported(tmp_path, experiment, kind="agentlab")
    [folder] = back.iterdir()
    after = read_trajectory(folder)
    assert after.ques == before.ques and after.trees == before.trees and after.answer == before.answer
    assert [step.url for step in after.steps] == [step.url for step in before.steps]
    for one, other in zip(before.steps, after.steps, strict=True):
        assert before.screenshot(one.number).read_bytes() == after.screenshot(other.number).read_bytes()
    assert read_outcome(folder).verdict is Verdict.SUCCESS


def test_a_trajectory_without_a_step_is_no_experiment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_trajectory(tmp_path / "ours", "Shop--3", num_steps=3)
    write_trajectory(tmp_path / "ours", "Shop--4", num_steps=0, status=INVALID, verdict=None)
    assert len(list(exported(tmp_path, tmp_path / "ours", "agentlab").iterdir())) == 1
    assert "trajectories without a step (1)" in capsys.readouterr().err


def test_its_pickles_name_four_classes_alone(tmp_path: Path) -> None:
    write_trajectory(tmp_path / "ours", "Shop--3", num_steps=3)
    out, named = exported(tmp_path, tmp_path / "ours", "agentlab"), set()
    for file in out.rglob("*.pkl*"):
        content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        named |= {argument for code, argument, _ in pickletools.genops(content) if code.name in ("GLOBAL", "REDUCE")}
    loop = "browsergym.experiments.loop"
    assert named == {f"{loop} {name}" for name in ("StepInfo", "StepTimestamps", "ExpArgs", "EnvArgs")}

"""Recordings of Chrome's DevTools become trajectories by numbers; what they say of waiting and windows is no step."""

import json
from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from data.trajectory import list_trajectories, read_trajectory
from toolkits import import_data
from toolkits.readers.detect import detect

SEARCH = [["aria/Search"], ["#q"], ["xpath///*[@id='q']"]]
STEPS: list[dict[str, Any]] = [
    {"type": "setViewport", "width": 800, "height": 600, "deviceScaleFactor": 1, "isMobile": False},
    {"type": "navigate", "url": "http://shop.example/", "assertedEvents": [{"type": "navigation", "title": "Shop"}]},
    {"type": "click", "selectors": SEARCH, "target": "main", "offsetX": 3, "offsetY": 4},
    {"type": "change", "value": "blue lamp", "selectors": SEARCH, "target": "main"},
    {"type": "keyDown", "key": "Enter", "target": "main"},
    {"type": "keyUp", "key": "Enter", "target": "main"},
    {"type": "scroll", "x": 0, "y": 400},
    {"type": "scroll", "x": 0, "y": 100},
    {"type": "waitForExpression", "expression": "fetch('http://evil.example/')"},
    {
        "type": "click",
        "selectors": ["main > a", 'aria/Blue lamp[role="link"]', "text/Blue"],
        "offsetX": 1,
        "offsetY": 1,
    },
    {"type": "hover", "selectors": [["#menu"]]},
    {"type": "keyDown", "key": "Escape"},
]


def recorded(folder: Path, steps: Any, **more: Any) -> Path:
    (folder / "recording.json").write_text(json.dumps({"title": "Find the blue lamp.", "steps": steps, **more}))
    return folder / "recording.json"


def imported(file: Path) -> Path:
    results = file.parent / "results"
    import_data.main(import_data.Config("devtools_recorder", (str(file),), str(file.parent), result_dir=str(results)))
    [folder] = list_trajectories(results)
    return folder


def test_what_was_recorded_is_said_by_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = recorded(tmp_path, STEPS)
    assert detect(file) == "devtools_recorder"
    trajectory = read_trajectory(imported(file))
    assert trajectory.ques == "Find the blue lamp." and trajectory.web == "http://shop.example/"
    said = [step.reply.partition("Action: ")[2] for step in trajectory.steps]
    assert said == ["Type [2]; blue lamp", "Scroll [WINDOW]; down", "Scroll [WINDOW]; up", "Click [2]"]
    assert "[2] textbox 'Search'" in trajectory.trees[0] and "[2] link 'Blue lamp'" in trajectory.trees[3]
    assert trajectory.steps[0].actions[0]["arguments"] == {"label": 2, "content": "blue lamp"}
    assert "steps of hover (1), steps of keyDown (1)" in capsys.readouterr().err


@pytest.mark.parametrize(
    "steps",
    [
        3,
        [3],
        [],
        [{}],
        [{"type": "change", "selectors": SEARCH}],
        [{"type": "scroll", "y": "x"}],
        [{"type": "scroll", "y": float("nan")}],
        [{"type": ["click"]}],
        [{"type": "customStep", "name": "../../x", "parameters": {"run": "x"}}],
        [{"type": "x" * 100_000}],
    ],
)
def test_what_is_no_recording_is_one_line(steps: Any, tmp_path: Path) -> None:
    file = recorded(tmp_path, steps)
    there = sorted(tmp_path.rglob("*"))
    with pytest.raises(UserError, match=r"^[^\n]+$") as refused:
        imported(file)
    assert str(file) in str(refused.value) and len(str(refused.value)) < 500
    assert sorted(tmp_path.rglob("*")) == there

"""Result folders for the judges of WebVoyager and Online-Mind2Web: what these look for in them is there."""

import json
import re
from pathlib import Path

import pytest

from data.trajectory import TrajectoryStep, read_trajectory
from tests.toolkits.readers.test_atif import exported, imported
from tests.toolkits.trajectories import write_trajectory


def test_webvoyagers_judge_finds_task_answer_and_screenshots(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    write_trajectory(tmp_path / "ours", "Shop--3", num_steps=3)
    called = write_trajectory(tmp_path / "ours", "Shop--4", num_steps=3)
    messages = json.loads((called / "interact_messages.json").read_text())
    messages[-1]["content"] = '<tool_call>{"name": "answer", "arguments": {"text": "blue"}}</tool_call>'
    (called / "interact_messages.json").write_text(json.dumps(messages))
    out = exported(tmp_path, tmp_path / "ours", "webvoyager")
    for folder in out.iterdir():
        messages = json.loads((folder / "interact_messages.json").read_text())
        asked = messages[1]["content"]
        asked = asked if isinstance(asked, str) else asked[0]["text"]
        assert re.search(r"Now given a task:(.+?)Please interact with", asked)[1].strip() == "Find a shoe."
        assert re.search(r"ANSWER[; ]+\[?(.[^\]]*)\]?", messages[-1]["content"])[1].strip() == "blue"
        assert sorted(path.name for path in folder.glob("*.png")) == [f"screenshot{n}.png" for n in (1, 2, 3)]
    assert "accessibility trees (6), verdicts (2)" in capsys.readouterr().err


def test_a_reply_that_does_nothing_keeps_its_place(tmp_path: Path) -> None:
    """Else the judge would see each later action on the screenshot before its own; what is all such is read back."""
    folder = write_trajectory(tmp_path / "ours", "Shop--3", num_steps=3)
    lines = [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]
    lines[0]["reply"] = "Thought: mmmm"
    (folder / "steps.jsonl").write_text("".join(json.dumps(TrajectoryStep(**line).to_json()) + "\n" for line in lines))
    out = exported(tmp_path, tmp_path / "ours", "online_mind2web")
    result = json.loads((out / "Shop--3" / "result.json").read_text())
    assert result["action_history"] == ["NOTHING, the reply could not be read", "link 'shoe' -> CLICK"]
    [back] = imported(tmp_path, out / "Shop--3", kind="online_mind2web").iterdir()
    assert len(read_trajectory(back).steps) == 3


def test_online_mind2webs_judges_read_what_was_done(tmp_path: Path) -> None:
    folder = write_trajectory(tmp_path / "ours", "Shop--3", num_steps=3)
    lines = [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]
    lines[1]["reply"] = "Thought: I type.\n\nAction: Type [2]; red shoe"
    steps = [TrajectoryStep(**line).to_json() for line in lines]
    (folder / "steps.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps))
    out = exported(tmp_path, tmp_path / "ours", "online_mind2web")
    result = json.loads((out / "Shop--3" / "result.json").read_text())
    assert result["action_history"] == ["RootWebArea 'Shop 1' -> CLICK", "link 'shoe' -> TYPE: red shoe"]
    assert (result["task"], result["final_result_response"]) == ("Find a shoe.", "blue")
    assert result["thoughts"] == ["step 1.", "I type.", "step 3."]
    names = sorted((out / "Shop--3" / "trajectory").iterdir(), key=lambda path: int(re.findall(r"\d+", path.name)[0]))
    assert [path.name for path in names] == [f"{number}_screenshot.png" for number in range(3)]
    back = read_trajectory(next(imported(tmp_path, out / "Shop--3", kind="online_mind2web").iterdir()))
    assert [step.reply for step in back.steps][2] == "Thought: step 3.\n\nAction: ANSWER; blue"

"""The Agent Data Protocol in and out: neulab's trajectories become folders, ours keep its rules and come back whole."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from data.outcome import Verdict
from data.trajectory import folder_name, read_trajectory
from tests.toolkits.readers.test_atif import exported, imported, same, whole
from tests.toolkits.trajectories import screenshot, write_trajectory

WEB = {"class_": "web_observation", "html": None, "viewport_size": [32, 24]}
SHOWN = {"class_": "image_observation", "annotations": None, "source": "environment"}
URL = "http://shop.example/"
FOREIGN = {
    "schema_version": "1.0.0",
    "id": "a1",
    "content": [
        {"class_": "text_observation", "content": "Buy a lamp.", "source": "user"},
        {
            **WEB,
            "axtree": "[1] link 'Lamp'",
            "url": "http://shop.example/",
            "image_observation": {**SHOWN, "content": "1.png"},
        },
        {"class_": "api_action", "function": "click", "kwargs": {"bid": "1"}, "description": "A lamp."},
        {"class_": "text_observation", "content": "clicked", "source": "environment"},
        {"class_": "code_action", "language": "python", "content": "pay()", "reasoning_content": "Now pay."},
        {**WEB, "axtree": None, "html": "<p>Paid", "url": "http://shop.example/paid", "image_observation": None},
        {"class_": "message_action", "content": "Bought.", "description": None, "reward": 1.0},
    ],
    "details": {"dataset": "x"},
}


def test_theirs_become_folders(tmp_path: Path) -> None:
    (tmp_path / "1.png").write_bytes(screenshot(1))
    (tmp_path / "a.jsonl").write_text(json.dumps(FOREIGN) + "\n" + json.dumps(FOREIGN))
    out = imported(tmp_path, tmp_path / "a.jsonl", kind="adp")
    read = read_trajectory(out / folder_name("adp--1", 1))
    call = '<tool_call>\n{"name": "click", "arguments": {"bid": "1"}}\n</tool_call>'
    assert [(step.url, step.feedback, step.reply) for step in read.steps] == [
        ("http://shop.example/", "", f"A lamp.\n{call}"),
        ("http://shop.example/", "clicked", "<think>Now pay.</think>\n```python\npay()\n```"),
        ("http://shop.example/paid", "", "Bought."),
    ]
    assert read.trees == ["[1] link 'Lamp'", "[1] link 'Lamp'", "<p>Paid"]
    assert (read.ques, read.answer, read.outcome.verdict) == ("Buy a lamp.", "Bought.", Verdict.SUCCESS)
    assert read.screenshot(3).read_bytes() == screenshot(1)


def check_rules(content: list[dict[str, Any]]) -> None:
    """Those of neulab's `schema/trajectory.py`: what an action with an id gave follows, and each has one."""
    for one, after in itertools.pairwise(content):
        if one["class_"] == "api_action" and after["class_"].endswith("observation"):
            assert one["tool_call_id"] == after["tool_call_id"]
    ids = [item["tool_call_id"] for item in content if "tool_call_id" in item]
    assert all(ids.count(name) == 2 for name in ids)


def test_ours_keep_the_rules_and_come_back_as_they_were(tmp_path: Path) -> None:
    ours = whole(tmp_path / "ours")
    target = exported(tmp_path, tmp_path / "ours", "adp")
    lines = [json.loads(line) for line in (target / "trajectories.jsonl").read_text().splitlines()]
    for line in lines:
        check_rules(line["content"])
        assert line.keys() == {"schema_version", "id", "content", "details"}
    actions = [item for item in lines[0]["content"] if item["class_"].endswith("action")]
    assert [action.get("function") for action in actions] == ["click", "click", "click", None]
    assert (actions[0]["kwargs"], actions[0]["description"], actions[3]["content"]) == ({"label": 1}, "step 1.", "blue")
    same(ours, imported(tmp_path, target, kind="adp"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (FOREIGN | {"content": 3}, "content"),
        (FOREIGN | {"content": []}, "no step"),
        (FOREIGN | {"content": [{"class_": "x"}]}, "neither an observation nor an action"),
        (FOREIGN | {"content": [{"class_": "api_action", "function": 3, "kwargs": {}}]}, "call without"),
        (FOREIGN | {"content": [{"class_": "image_observation", "content": "../../etc/passwd"}]}, "not in"),
        (FOREIGN | {"content": [{"class_": "message_action", "content": "a", "reward": "NaN"}]}, "finite"),
        (FOREIGN | {"details": {"elcano": {"steps": [{}]}}}, "pages"),
        (FOREIGN | {"details": {"elcano": {"steps": 3}}}, "not a list"),
    ],
)
def test_what_is_none_is_one_line_and_leaves_nothing(tmp_path: Path, content: dict[str, Any], said: str) -> None:
    (tmp_path / "a.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"a\.json") as error:
        imported(tmp_path, tmp_path / "a.json", kind="adp")
    assert said in str(error.value) and "\n" not in str(error.value)
    assert {path.name for path in tmp_path.iterdir()} == {"a.json"}


def test_a_reply_that_was_not_understood_is_a_message(tmp_path: Path) -> None:
    folder = write_trajectory(tmp_path / "ours")
    lines = [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]
    lines[1]["reply"] = "I do not know."
    (folder / "steps.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    target = exported(tmp_path, tmp_path / "ours", "adp")
    content = json.loads((target / "trajectories.jsonl").read_text())["content"]
    assert {"class_": "message_action", "content": "I do not know.", "description": None} in content
    check_rules(content)

"""ATIF in and out: Harbor's trajectories become folders, ours come back whole, its models take ours."""

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from data.trajectory import TrajectoryStep, folder_name, read_trajectory
from tests.toolkits.trajectories import screenshot, write_trajectory
from toolkits import export_data, import_data


def exported(tmp_path: Path, results: Path, kind: str = "atif") -> Path:
    export_data.main(export_data.Config(kind, str(tmp_path / kind), result_dir=str(results)))
    return tmp_path / kind


def imported(tmp_path: Path, *given: Path, kind: str = "atif") -> Path:
    out = tmp_path / "imported"
    import_data.main(import_data.Config(kind, tuple(map(str, given)), str(tmp_path), result_dir=str(out)))
    return out


def foreign(**step: Any) -> dict[str, Any]:
    """A trajectory of an agent that calls tools, as Harbor's converters write them."""
    image = {"type": "image", "source": {"media_type": "image/png", "path": "images/1.png"}}
    call = {"tool_call_id": "c1", "function_name": "click", "arguments": {"x": 3, "y": 4}}
    return {
        "schema_version": "ATIF-v1.6",
        "session_id": "s",
        "agent": {"name": "terminus-2", "version": "2.0", "tool_definitions": [{"type": "function"}]},
        "steps": [
            {"step_id": 1, "source": "system", "message": "You click."},
            {"step_id": 2, "source": "user", "message": [{"type": "text", "text": "Buy a lamp."}, image]},
            {
                "step_id": 3,
                "source": "agent",
                "message": "I see it.",
                "reasoning_content": "A lamp.",
                "tool_calls": [call],
                "observation": {
                    "results": [
                        {
                            "source_call_id": "c1",
                            "content": [
                                {"type": "text", "text": "clicked"},
                                image | {"source": {**image["source"], "path": "images/2.png"}},
                            ],
                            "extra": {"web": {"url": "http://shop.example/cart", "axtree": "[1] button 'Pay'"}},
                        }
                    ]
                },
                **step,
            },
            {"step_id": 4, "source": "agent", "message": "Bought."},
        ],
    }


def write_foreign(folder: Path, content: dict[str, Any]) -> Path:
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for number in (1, 2):
        (folder / "images" / f"{number}.png").write_bytes(screenshot(number))
    (folder / "trajectory.json").write_text(json.dumps(content))
    return folder


def test_an_agent_that_calls_tools_becomes_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = imported(tmp_path, write_foreign(tmp_path / "job" / "agent", foreign()).parent)
    read = read_trajectory(out / folder_name("atif--1", 0))
    call = '<tool_call>\n{"name": "click", "arguments": {"x": 3, "y": 4}}\n</tool_call>'
    assert [(step.url, step.feedback, step.reply) for step in read.steps] == [
        ("", "", f"<think>A lamp.</think>\nI see it.\n{call}"),
        ("http://shop.example/cart", "clicked", "Bought."),
    ]
    assert (read.ques, read.trees, read.answer) == ("Buy a lamp.", ["", "[1] button 'Pay'"], "Bought.")
    assert [read.screenshot(n).read_bytes() for n in (1, 2)] == [screenshot(1), screenshot(2)]
    assert "left out: system prompts (1), tool definitions (1)" in capsys.readouterr().err


def state(folder: Path) -> dict[str, bytes]:
    """All but what is no part of ATIF."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.match("accessibility_tree*.json")}


def whole(results: Path) -> list[Path]:
    """Two of ours, one with all that a step can have."""
    first = write_trajectory(results, "Shop--3", run=1)
    lines = [json.loads(line) for line in (first / "steps.jsonl").read_text().splitlines()]
    lines[1] |= {
        "token_ids": [5, 6],
        "logprobs": [-0.5, -1.0],
        "prompt_tokens": 9,
        "completion_tokens": 2,
        "notes": "n",
    }
    lines[2] |= {"feedback": "Not <image> there.", "timings_s": {"act": 0.25}}
    steps = [TrajectoryStep(**line).to_json() for line in lines]
    (first / "steps.jsonl").write_text("".join(json.dumps(step, ensure_ascii=False) + "\n" for step in steps))
    (first / "boxes2.json").write_text('{"1":[0,0,32,24]}')
    return [first, write_trajectory(results, "Shop--4", status="max_steps", verdict=None)]


def same(ours: list[Path], back: Path) -> None:
    for folder in ours:
        expected, found = state(folder), state(back / folder.name)
        for name in ("interact_messages.json", "agent.log"):  # made of the rest; feedback was put in by hand above
            expected.pop(name), found.pop(name)
        assert found == expected


def test_ours_come_back_as_they_were(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    ours = whole(tmp_path / "ours")
    target = exported(tmp_path, tmp_path / "ours")
    assert "left out: raw accessibility trees (8)" in capsys.readouterr().err
    same(ours, imported(tmp_path, target))


def test_harbors_models_take_ours(tmp_path: Path) -> None:
    atif = pytest.importorskip("atif", reason="pip install atif: the models of Harbor's format")
    whole(tmp_path / "ours")
    for file in exported(tmp_path, tmp_path / "ours").rglob("trajectory.json"):
        atif.Trajectory.model_validate_json(file.read_text())


def test_a_file_of_our_tool_calls_names_them(tmp_path: Path) -> None:
    write_trajectory(tmp_path / "ours", "Shop--3")
    steps = json.loads((exported(tmp_path, tmp_path / "ours") / "taskShop--3" / "trajectory.json").read_text())["steps"]
    calls = [step["tool_calls"][0] for step in steps if step["source"] == "agent"]
    assert [(call["function_name"], call["arguments"]) for call in calls] == [
        ("click", {"label": 1}),
        ("click", {"label": 2}),
        ("click", {"label": 3}),
        ("answer", {"content": "blue"}),
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"schema_version": "1"}, "schema_version"),
        (foreign() | {"steps": 3}, "steps"),
        (foreign() | {"steps": []}, "no step"),
        (foreign(source="robot"), "source"),
        (foreign(tool_calls=[{"function_name": "x", "arguments": "rm"}]), "tool call"),
        (foreign(message=[{"type": "image", "source": {"path": "../../etc/passwd"}}]), "not in"),
        (foreign(message=[{"type": "image", "source": {"path": "data:image/png,xx"}}]), "base64"),
        (foreign() | {"extra": {"elcano": {"task": {"id": "../x", "ques": "a", "web": "b"}}}}, "x"),
        (foreign() | {"extra": {"elcano": {"task": 3}}}, "task"),
    ],
)
def test_what_is_none_is_one_line_and_leaves_nothing(tmp_path: Path, content: dict[str, Any], said: str) -> None:
    file = write_foreign(tmp_path / "job", content)
    with pytest.raises(UserError, match=said) as error:
        imported(tmp_path, file)
    assert "\n" not in str(error.value) and {path.name for path in tmp_path.iterdir()} == {"job"}


def test_json_lines_with_data_urls_and_addresses(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    content = foreign()
    url = "data:image/png;base64," + base64.b64encode(screenshot(7)).decode()
    content["steps"][1]["message"][1]["source"]["path"] = url
    content["steps"][2]["observation"]["results"][0]["content"][1]["source"]["path"] = "https://x.example/2.png"
    (tmp_path / "all.jsonl").write_text(f"{json.dumps(content)}\n\n{json.dumps(content)}\n")
    out = imported(tmp_path, tmp_path / "all.jsonl")
    shown = [read_trajectory(folder).screenshot(2).read_bytes() for folder in sorted(out.iterdir())]
    assert shown == [screenshot(7)] * 2
    assert "images at an address (2)" in capsys.readouterr().err


def test_an_export_that_cannot_be_leaves_nothing(tmp_path: Path) -> None:
    folder = write_trajectory(tmp_path / "ours")
    write_trajectory(tmp_path / "ours", "Shop--9")
    (folder / "screenshot2.png").unlink()
    with pytest.raises(UserError, match="screenshot2"):
        exported(tmp_path, tmp_path / "ours")
    assert [path.name for path in tmp_path.iterdir()] == ["ours"]
    shutil.rmtree(folder)
    exported(tmp_path, tmp_path / "ours")
    with pytest.raises(UserError, match="something is there"):
        exported(tmp_path, tmp_path / "ours")

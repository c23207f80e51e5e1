"""The field's sets as they lie on people's disks: pictures that were not fetched, rows without one, smaller copies."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from tests.toolkits.interchange import pictures, take_in
from toolkits import import_data
from toolkits.readers.detect import detect

BOX = {"instruction": "a", "bbox": [0.25, 0.25, 0.75, 0.75]}
CLICK = "pyautogui.click(x=0.5, y=0.5)"
STAGE_1 = [{"from": "human", "value": "a"}, {"from": "gpt", "value": CLICK}]
POINT = [{"from": "human", "value": "a"}, {"from": "gpt", "value": "(500, 500)"}]


def written(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def points(samples: list[dict[str, Any]]) -> list[list[int]]:
    said = [sample["conversations"][1]["value"] for sample in samples]
    return [json.loads(one.split("<tool_call>")[1].split("</tool_call>")[0])["arguments"]["coordinate"] for one in said]


@pytest.mark.parametrize(
    ("kind", "name", "rest"),
    [("os_atlas", "img_filename", BOX), ("uground", "image", {"conversations": POINT}),
     ("aguvis", "image", {"conversations": STAGE_1})],
)  # fmt: skip
def test_a_picture_that_is_not_there_leaves_out_its_own_records(
    tmp_path: Path, kind: str, name: str, rest: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    pictures(tmp_path, "0.png")
    file = written(tmp_path / "all.json", [{name: image, **rest} for image in ("gone.png", "0.png")])
    assert points(take_in(kind, tmp_path, tmp_path / "out.json", file)) == [[500, 500]]
    said = capsys.readouterr().err
    assert "left out: episodes of which a screenshot is not there (1)" in said
    assert "record 1" in said and "its image gone.png is not in" in said


def test_an_element_that_nothing_describes_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pictures(tmp_path, "0.png")
    file = written(tmp_path / "all.json", [{"img_filename": "0.png", "elements": [{**BOX, "instruction": " "}, BOX]}])
    assert len(take_in("os_atlas", tmp_path, tmp_path / "out.json", file)) == 1
    assert "elements that nothing describes (1)" in capsys.readouterr().err


def test_points_of_uground_may_be_shares(tmp_path: Path) -> None:
    pictures(tmp_path, "0.png")
    told = [[POINT[0], {"from": "gpt", "value": said}] for said in ("(0.5, 0.25)", "(1, 1)", "[0.5, 0.25, 1.0, 0.75]")]
    rows = [{"image": "0.png", "conversations": turns, "width": 32, "height": 24} for turns in told]
    file = written(tmp_path / "all.json", rows)
    assert detect(file) == "uground"
    assert points(take_in("auto", tmp_path, tmp_path / "out.json", file)) == [[500, 250], [1, 1], [750, 500]]


def test_boxes_of_screenspot_pro_count_pixels_of_the_size_that_it_tells(tmp_path: Path) -> None:
    pictures(tmp_path, "0.png")  # 32 x 24
    told = {"img_filename": "0.png", "instruction": "a", "bbox": [1600, 0, 3200, 1200], "ui_type": "icon"}
    file = written(tmp_path / "all.json", [{**told, "img_size": [3200, 2400]}])
    (sample,) = take_in("auto", tmp_path, tmp_path / "out.json", file)
    assert sample["grounding"]["box"] == [16.0, 0.0, 32.0, 12.0] and points([sample]) == [[750, 250]]


def test_rows_of_multimodal_mind2web_without_a_screenshot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pictures(tmp_path, "0.png")
    target = {
        "backend_node_id": "5",
        "attributes": json.dumps({"bounding_box_rect": "1,2,3,4"}),
        "is_original_target": True,
    }
    rows = [
        {"annotation_id": name, "website": "a", "confirmed_task": name, "screenshot": shown, "action_reprs": ["x"],
         "cleaned_html": '<a backend_node_id="5">x</a>', "operation": json.dumps({"op": "CLICK", "value": ""}),
         "pos_candidates": [json.dumps(target)], "neg_candidates": [], "target_action_index": "0"}
        for name, shown in (("A", None), ("B", {"bytes": (tmp_path / "0.png").read_bytes(), "path": None}))
    ]  # fmt: skip
    (tmp_path / "data").mkdir()
    for part in ("train-00000-of-00001", "test_task-00000-of-00001"):
        parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "data" / f"{part}.parquet")
    config = import_data.Config("auto", (str(tmp_path),), str(tmp_path), result_dir=str(tmp_path / "out"))
    import_data.main(config)
    assert len(list((tmp_path / "out").iterdir())) == 1
    said = capsys.readouterr().err
    assert "files of other splits than train (1)" in said and "its screenshot is null" in said


def test_a_folder_of_annotations_is_all_of_its_files(tmp_path: Path) -> None:
    pictures(tmp_path / "screenshots", "0.png")
    step = {"screenshot": "0.png", "action": "CLICK", "info": [[500, 500]]}
    for number in range(3):
        episode = {"task_info": {"instruction": f"do {number}"}, "steps": [step]}
        written(tmp_path / "annotations" / f"{number}.json", episode)
    given = (str(tmp_path / "annotations"),)
    assert detect(tmp_path / "annotations") == "gui_odyssey"
    import_data.main(import_data.Config("auto", given, str(tmp_path / "screenshots"), result_dir=str(tmp_path / "out")))
    assert len(list((tmp_path / "out").iterdir())) == 3


def test_episodes_of_aitw_may_be_empty_and_answers_of_agentnet_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pictures(tmp_path, "0.png")
    step = {"goal": "g", "img_filename": "0.png", "action_type_id": 5}
    file = written(tmp_path / "aitw.json", {"general": [[], [step]]})
    import_data.main(import_data.Config("aitw", (str(file),), str(tmp_path), result_dir=str(tmp_path / "a")))
    assert "episodes without steps (1)" in capsys.readouterr().err
    code = "computer.terminate(status='success', answer='42')"
    file = written(tmp_path / "net.json", [{"instruction": "g", "traj": [{"image": "0.png", "value": {"code": code}}]}])
    import_data.main(import_data.Config("agentnet", (str(file),), str(tmp_path), result_dir=str(tmp_path / "b")))
    (steps,) = (tmp_path / "b").rglob("steps.jsonl")
    assert json.loads(steps.read_text())["actions"][0]["arguments"] == {"content": "42"}


def test_a_job_in_which_an_agent_did_nothing_gives_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Harbor writes a trajectory of every trial, also of those that failed before the first step."""
    asked = {"source": "user", "message": "g"}
    done = {"source": "agent", "message": "ok"}
    image = {"type": "image", "source": {"media_type": "image/png", "path": "images/gone.png"}}
    trials = [[asked], [asked, done], [{"source": "user", "message": [image]}, done]]
    for number, steps in enumerate(trials):
        trajectory = {"schema_version": "ATIF-v1.6", "agent": {"name": "a"}, "steps": steps}
        written(tmp_path / "job" / str(number) / "trajectory.json", trajectory)
    given = (str(tmp_path / "job"),)
    import_data.main(import_data.Config("auto", given, str(tmp_path), result_dir=str(tmp_path / "out")))
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["taskatif--1--run0"]
    said = capsys.readouterr().err
    assert "trajectories without a step of an agent (1)" in said and "an image is not there (1)" in said
    assert "images/gone.png is not in" in said


def demonstration(folder: Path, utterance: str = "Open the shop", **state: Any) -> None:
    """WebLINX', without the page's HTML; into one of its fields the person typed without a click."""
    seen = {"screenshot": "a.png", "page": "page-1-0.html", **state}
    typed = {"metadata": {"url": "https://shop/"}, "text": "x", "element": None}
    click = {"metadata": {"mouseX": 5, "mouseY": 6, "url": "https://shop/"}, "element": None}
    acts = [{"intent": "click", "arguments": click}, {"intent": "textInput", "arguments": typed}]
    turns = [{"type": "browser", "state": seen, "action": act} for act in acts]
    turns.insert(0, {"type": "chat", "speaker": "instructor", "utterance": utterance})
    pictures(folder, "screenshots/a.png")
    written(folder / "replay.json", {"data": turns})


def surfed(folder: Path, *lines: dict[str, Any]) -> None:
    """A run of Fara's."""
    pictures(folder, "screenshot0.png")
    written(folder / "task_data.json", {"task_summary": "Buy a chair"})
    (folder / "web_surfer.log").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def control(goal: str, count: int = 1) -> dict[str, Any]:
    return {
        "goal": goal,
        "screenshots": ["0.png"],
        "actions": [{"action_type": "wait"}] * count,
        "step_instructions": [],
    }


@pytest.mark.parametrize("kind", ["weblinx", "fara", "android_control"])
def test_one_gap_ends_no_import(tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = tmp_path / "set"
    pictures(tmp_path, "0.png")
    if kind == "weblinx":
        demonstration(given / "whole")
        demonstration(given / "gone", screenshot="b.png")
        demonstration(given / "silent", " ")
    elif kind == "fara":
        surfed(given / "whole", {"action": "left_click", "arguments": {"action": "left_click", "coordinate": [3, 4]}})
        surfed(given / "empty")
    else:
        given = written(tmp_path / "a.json", [control("Wait"), control(""), control("Wait", 2)])
    assert detect(given) == kind
    config = import_data.Config("auto", (str(given),), str(tmp_path), result_dir=str(tmp_path / "out"))
    import_data.main(dataclasses.replace(config, action_space="qwen_computer_use"))
    said = capsys.readouterr()
    assert "out: 1 trajectories" in said.out
    assert "episodes without a task, or without an action (1)" in said.err
    if kind == "weblinx":
        assert "pages that are not there (2)" in said.err
        assert "steps of textinput at a place that is not told (1)" in said.err

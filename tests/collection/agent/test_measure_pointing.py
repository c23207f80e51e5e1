"""How far off an endpoint points: of one that is exact, and of one that says pixels where thousandths are asked for."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from collection.evaluation.pointing import Pointed, report
from collection.measure_pointing import PointingConfig, _layout, main
from common.errors import UserError
from common.network.stand_in import completion
from environments.browser.page.page import Viewport
from tests.answering import Request, answering
from tests.toolkits.research.screens import pictures
from toolkits import import_data

VIEWPORT = Viewport(1280, 1000, 2.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("units", "said"),
    [
        ((1000, 1000), ["3 of 3 buttons hit, 0 without a click", "median 0.00 px", "1.0000 times", "1.0000 times"]),
        ((640, 1000), ["0.6400 times the true distance across and 1.0000 times"]),
    ],
)
def test_the_error_of_an_endpoint(
    units: tuple[int, int], said: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    generator = random.Random(7)
    boxes = {name: box for _ in range(3) for name, *box in _layout(generator, VIEWPORT)[:1]}

    def answer(request: Request) -> tuple[int, Any]:
        if request.body is None:
            return 200, {"data": []}
        name = re.search(r"the button that reads (\d+)\.", json.dumps(request.body))[1]
        left, top, width, height = boxes[name]
        point = [(left + width / 2) * units[0] / 1280, (top + height / 2) * units[1] / 1000]
        call = json.dumps({"name": "computer_use", "arguments": {"action": "left_click", "coordinate": point}})
        return 200, completion("m", f"<tool_call>{call}</tool_call>", [])

    with answering(answer) as url:
        flags = {"api_base": f"{url}/v1", "api_model": "m", "api_key": "k", "action_space": "qwen_computer_use"}
        main(PointingConfig(**flags, num_targets=3, device_scale=2.0, seed=7, output=tmp_path / "answers.jsonl"))
    printed = capsys.readouterr().out
    assert all(part in printed for part in said), printed
    first = json.loads((tmp_path / "answers.jsonl").read_text().splitlines()[0])
    assert first["action"]["screenshot"] == [2560, 2000] and first["action"]["viewport"] == [1280, 1000]


def test_a_wrong_scale_is_told() -> None:
    found = [
        Pointed("7", (left, top, 20, 10), "", {"css": [[1.28 * (left + 10), top + 5]]}, False)
        for left, top in ((100, 50), (400, 700))
    ]
    assert (
        report(found)
        .splitlines()[-1]
        .startswith("its points lie at 1.2800 times the true distance across and 1.0000 times")
    )
    assert (
        report([Pointed("7", (0, 0, 20, 10), "no", None, False)])
        == "0 of 1 buttons hit, 1 without a click\nthe first reply: 'no'"
    )


SCREENSPOT = {
    "screenspot_web_v2.json": [
        ("web.png", "the lamp", [20, 10, 40, 20], "icon", "shop"),
        ("web.png", "the menu", [100, 50, 60, 40], "text", "forum"),
        ("web.png", "the gap", [0, 0, 10, 10], "text", "forum"),
    ],
    "screenspot_mobile_v2.json": [("mobile.jpg", "the clock", [100, 0, 100, 100], "icon", "ios")],
}


def imported(folder: Path) -> dict[str, Any]:
    """The flags of a set in ScreenSpot's layout, imported as a user does it."""
    pictures(folder, "web.png", "mobile.jpg")
    names = ("img_filename", "instruction", "bbox", "data_type", "data_source")
    for file, rows in SCREENSPOT.items():
        (folder / file).write_text(json.dumps([dict(zip(names, row, strict=True)) for row in rows]))
    files = tuple(str(folder / file) for file in SCREENSPOT)
    import_data.main(import_data.Config("auto", files, str(folder), str(folder / "set.json")))
    return {"json_files": (folder / "set.json",), "image_dirs": (folder,)}


def test_a_set_is_told_as_screenspot_tells_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By platform and kind, with intervals; what is answered without a place is no hit."""
    said = {"the lamp": (200, 200), "the menu": (499, 700), "the clock": (750, 500)}

    def answer(request: Request) -> tuple[int, Any]:
        asked = json.dumps(request.body)
        point = next((list(at) for ques, at in said.items() if ques in asked), None)
        call = json.dumps({"name": "computer_use", "arguments": {"action": "left_click", "coordinate": point}})
        return 200, completion("m", f"<tool_call>{call}</tool_call>" if point else "I see no gap.", [])

    given = imported(tmp_path)
    with answering(answer) as url:
        flags = {"api_base": f"{url}/v1", "api_model": "m", "api_key": "k", "action_space": "qwen_computer_use"}
        main(PointingConfig(**flags, **given, output=tmp_path / "answers.jsonl"))
    printed = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "platform text icon all" in printed
    assert "mobile 100.0 [21, 100] 1/1 100.0 [21, 100] 1/1" in printed
    assert "web 0.0 [0, 66] 0/2 100.0 [21, 100] 1/1 33.3 [6, 79] 1/3" in printed
    assert "all 0.0 [0, 66] 0/2 100.0 [34, 100] 2/2 50.0 [15, 85] 2/4" in printed
    assert "average 66.7" in printed  # of the three cells
    assert "2 of 4 targets hit, 1 without a click" in printed
    answers = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    assert [one["ques"] for one in answers] == ["the lamp", "the menu", "the gap", "the clock"]
    assert answers[1]["action"]["css"] == [[99.8, 70.0]] and answers[1]["box"] == [100, 50, 60, 40]


def test_samples_that_tell_no_box_are_one_line(tmp_path: Path) -> None:
    flags = {"api_base": "http://localhost:1/v1", "api_model": "m", "action_space": "qwen_computer_use"}
    for record, told in (
        ({"id": "a"}, "no sample tells the box"),
        (
            {"id": "a", "images": ["../b.png"], "grounding": {"ques": "x", "box": [1, 2, 3, 4]}},
            "its one image is in none",
        ),
        ({"id": "a", "images": ["a.png"], "grounding": {"ques": "x", "box": [1, 2]}}, "not four numbers"),
        ({"id": "a", "images": ["a.png"], "grounding": {"box": "x"}}, "is not {ques, box"),
    ):
        pictures(tmp_path, "a.png")
        (tmp_path / "set.json").write_text(json.dumps([record]))
        with pytest.raises(UserError, match=told):
            main(PointingConfig(**flags, json_files=(tmp_path / "set.json",), image_dirs=(tmp_path,)))


def test_what_the_server_does_not_answer_is_told() -> None:
    said = report([Pointed("7", (0, 0, 20, 10), "no reply: HTTP 500", None, False)] * 2, "targets")
    assert said.endswith("the server did not answer about 2, which count as missed; the first time: HTTP 500")

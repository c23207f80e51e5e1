"""How far off an endpoint points: of one that is exact, and of one that says pixels where thousandths are asked for."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from collection.measure_pointing import Pointed, PointingConfig, _layout, main, report
from common.stand_in import completion
from environments.browser.page.page import Viewport
from tests.answering import Request, answering

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

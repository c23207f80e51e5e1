"""make_traces.py: a JSON file and a picture of each trajectory, with the columns of its steps."""

import json
from pathlib import Path

import pyarrow
import pytest
from PIL import Image
from pyarrow import parquet

from common.errors import UserError
from data.outcome import Outcome, Verdict
from data.trajectory import INVALID, write_outcome
from tests.toolkits.trajectories import write_trajectory
from toolkits.make_traces import Config, main
from toolkits.trajectories.contact_sheet import HEIGHT, MARGIN, WIDTH


def test_each_step_has_its_numbers_and_its_screenshot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results, out = tmp_path / "trajectories", tmp_path / "out" / "traces"
    write_trajectory(results, "Shop--3", run=0, num_steps=5)
    write_trajectory(results, "Shop--4", num_steps=2)
    keys = [f"Shop--00003--run0--r02--step{number:02d}" for number in range(1, 6)]
    values = {"value_1": [0.1, 0.2, 0.3, 0.4, 0.5], "q_1": [0.5, 0.4, 0.3, 0.2, 0.1]}
    parquet.write_table(pyarrow.table({"id": keys, **values}), tmp_path / "values.parquet")
    ids, weights = [keys[1], f"{keys[1]}--c1"], {"advantage": [-0.25, 0.75], "weight": [0.0, 1.0]}
    parquet.write_table(pyarrow.table({"id": ids, **weights}), tmp_path / "digiq.parquet")
    drawn = pyarrow.table({"id": [keys[1]], "candidates": [["Thought: t.\n\nAction: GoBack"]]})
    parquet.write_table(drawn, tmp_path / "candidates.parquet")
    files = tuple(tmp_path / f"{name}.parquet" for name in ("values", "digiq", "candidates"))
    main(Config(results, out, files, round_id=2))

    assert "traces of 1 of 2 trajectories" in capsys.readouterr().out
    assert sorted(path.name for path in out.iterdir()) == ["taskShop--3--run0.json", "taskShop--3--run0.png"]
    trace = json.loads((out / "taskShop--3--run0.json").read_text())
    assert (trace["task"], trace["outcome"], len(trace["steps"])) == ("Find a shoe.", "success", 5)
    assert [step["columns"]["value_1"] for step in trace["steps"]] == values["value_1"]
    second = trace["steps"][1]
    assert second["action"] == "Click [2]" and second["columns"]["advantage"] == -0.25
    candidate = {"reply": "Thought: t.\n\nAction: GoBack", "action": "GoBack"}
    assert second["candidates"] == [{**candidate, "columns": {"advantage": 0.75, "weight": 1.0}}]
    assert all((out / step["screenshot"]).is_file() for step in trace["steps"])
    with Image.open(out / "taskShop--3--run0.png") as sheet:
        assert sheet.width == 4 * (WIDTH + MARGIN) + MARGIN and sheet.height > 2 * HEIGHT  # four beside each other
        assert sheet.getpixel((MARGIN + 10, sheet.height - 2)) == (255, 255, 255)
        shown = {color for _, color in sheet.getcolors(1 << 20)}
        assert {(number * 40 % 256, 90, 120) for number in range(1, 6)} <= shown


def test_columns_of_other_trajectories_are_named(tmp_path: Path) -> None:
    write_trajectory(tmp_path / "trajectories", num_steps=2)
    parquet.write_table(pyarrow.table({"id": ["x"], "value_1": [1.0]}), tmp_path / "values.parquet")
    with pytest.raises(
        UserError, match=r"no file of columns has a row for Shop--00003--r01--step01; give .*--round_id"
    ):
        main(Config(tmp_path / "trajectories", tmp_path / "out", (tmp_path / "values.parquet",)))
    assert not any((tmp_path / "out").iterdir())


def test_without_columns_there_are_pictures_all_the_same(tmp_path: Path) -> None:
    for name in ("Shop--3", "Shop--4"):
        write_trajectory(tmp_path / "trajectories", name, num_steps=2)
    judged = Outcome(Verdict.FAILURE, "answered 'red', expected 'blue'")
    write_outcome(tmp_path / "trajectories" / "taskShop--4", judged)
    main(Config(tmp_path / "trajectories", tmp_path / "out", tasks=("Shop--4",)))
    told = json.loads((tmp_path / "out" / "taskShop--4.json").read_text())
    assert (told["outcome"], told["reason"]) == ("failure", judged.reason)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["taskShop--4.json", "taskShop--4.png"]
    with pytest.raises(UserError, match="holds no complete trajectory of Shop--5"):
        main(Config(tmp_path / "trajectories", tmp_path / "out", tasks=("Shop--5",)))


def test_a_trajectory_without_a_step_is_told_and_stops_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results, out = tmp_path / "trajectories", tmp_path / "out"
    write_trajectory(results, "Shop--2", num_steps=0, status=INVALID, verdict=Verdict.INVALID)
    write_trajectory(results, "Shop--3", num_steps=2)
    main(Config(results, out))
    assert sorted(path.name for path in out.iterdir()) == ["taskShop--3.json", "taskShop--3.png"]
    told = capsys.readouterr().out
    assert "taskShop--2: has no step, so no trace (invalid)" in told and "traces of 1 of 2 trajectories" in told
    main(Config(results, out, tasks=("Shop--2",)))
    assert "traces of 0 of 1 trajectories" in capsys.readouterr().out

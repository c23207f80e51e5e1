"""What trajectories of others say and ours have no place for is counted by its name."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.toolkits.interchange import take_in
from toolkits import import_data
from toolkits.readers.reading.left_out import LeftOut

CALL = {"tool_call_id": "c", "function_name": "wait", "arguments": {}, "approved": True}
RESULT = {"source_call_id": "c", "content": "ok", "subagent_trajectory_ref": [{"session_id": "t"}]}
ATIF: dict[str, Any] = {
    "schema_version": "ATIF-v1.8",
    "session_id": "s",
    "final_metrics": {"total_cost_usd": 1},
    "notes": "",
    "agent": {"name": "a", "version": "1", "model_name": "m"},
    "steps": [
        {"step_id": 1, "source": "user", "message": "Buy.", "timestamp": "2026-01-01T00:00:00Z"},
        {
            **{"step_id": 2, "source": "agent", "message": "", "tool_calls": [CALL], "metrics": {"logprobs": [-1]}},
            **{"observation": {"results": [RESULT]}, "extra": {"web": {"url": "u"}, "zoom": 2}},
        },
        {"step_id": 3, "source": "agent", "message": "Done.", "observation": {"results": None}},
    ],
}
ADP = {
    **{"schema_version": "1.3.0", "id": "s", "available_apis": None, "origin": "us"},
    "details": {"task": "Buy.", "split": "x"},
    "content": [
        {"class_": "web_observation", "url": "http://s/", "axtree": "[1]", "html": "<p>", "viewport_size": [1, 2]},
        {"class_": "api_action", "function": "click", "kwargs": {"bid": "1"}, "confidence": 0.5},
    ],
}


@pytest.mark.parametrize(
    ("kind", "trajectory", "told"),
    [
        (
            "atif",
            ATIF,
            "approved of calls (1), final_metrics of trajectories (1), metrics of steps (1), model_name of agents (1), "
            "subagent_trajectory_ref of results (1), timestamp of steps (1), zoom of the extra of steps (1)",
        ),
        (
            "adp",
            ADP,
            "confidence of actions (1), html of pages, beside their axtree (1), origin of trajectories (1), split of "
            "the details of trajectories (1), viewport_size of observations (1)",
        ),
    ],
)
def test_fields_that_nothing_reads_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture, kind: str, trajectory: dict[str, Any], told: str
) -> None:
    file = tmp_path / "trajectory.json"
    file.write_text(json.dumps(trajectory))
    import_data.main(import_data.Config(kind, (str(file),), str(tmp_path), result_dir=str(tmp_path / "out")))
    assert capsys.readouterr().err == f"{file}: left out: {told}\n"


def test_a_file_that_makes_up_names_makes_no_line_without_end() -> None:
    left_out = LeftOut()
    left_out.count_unread("steps", {f"{number}" * 100: 1 for number in range(1000)}, ())
    assert len(left_out) <= 101 and sum(left_out.values()) == 1000
    assert max(map(len, left_out)) < 60


@pytest.mark.parametrize("kind", ["messages", "llava"])
def test_fields_of_turns_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture, kind: str) -> None:
    turns = [{"from": "human", "value": "Hi", "time": 1}, {"from": "gpt", "value": "Ho", "time": 2, "box": [], "id": 1}]
    (tmp_path / "a.json").write_text(json.dumps([{"conversations": turns}]))
    take_in(kind, tmp_path, tmp_path / "out.json", tmp_path / "a.json")
    told = "time of turns (2)" if kind == "messages" else "id of turns (1), time of turns (2)"
    assert f"left out: {told}\n" in capsys.readouterr().err


def test_thoughts_by_any_of_their_names_are_said(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    names = ("reasoning_content", "reasoning", "thinking")
    turns = [[{"role": "user", "content": "?"}, {"role": "assistant", "content": "!", name: "Hm."}] for name in names]
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"messages": one}) for one in turns))
    samples = take_in("messages", tmp_path, tmp_path / "out.json", tmp_path / "a.jsonl")
    assert {one["conversations"][1]["value"] for one in samples} == {"<think>\nHm.\n</think>\n\n!"}
    assert not capsys.readouterr().err

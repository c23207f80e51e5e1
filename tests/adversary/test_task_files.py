"""Task files from elsewhere."""

import json
from pathlib import Path
from typing import Any

import pytest

from collection.campaign.overview import print_overview
from collection.evaluation.summary import print_summary, summarise
from data.task import Task, read_tasks
from tests.adversary.refusals import refusal

GOOD = {"id": "a", "ques": "q", "web": "http://a.com/"}
LINES = {
    "nested deeply": "[" * 100_000,
    "nested within": json.dumps(GOOD)[:-1] + ', "eval": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "a number of 5,000 digits": json.dumps(GOOD)[:-1] + ', "eval": {"x": ' + "9" * 5000 + "}}",
    "no character": "\0",
    "half a character": json.dumps(GOOD | {"ques": "\ud800"}),
    "half a character in the address": json.dumps(GOOD | {"web": "http://\ud800.com"}),
    "not a number": json.dumps(GOOD)[:-1] + ', "eval": NaN}',
    "a list": "[1]",
    "an id that leads out": json.dumps(GOOD | {"id": "../../x"}),
    "an escape sequence": json.dumps(GOOD | {"web_name": "\x1b[2Jshop"}),
}
WRONG: dict[str, list[Any]] = {
    "eval": ["x", [1], 5, True],
    "web_name": [[1], {}, 5],
    "domain": [{}, 1.5],
    "storage_state": [5, ["x"], {"cookies": []}, "a\0b", "\x1b[2J"],
    "backend": [{}, 0],
    "changes_backend": ["yes", 1],
    "ques": [None, 5, [], ""],
    "web": [None, 5, "\n"],
    "id": [None, True, 5.0, "", "a/b", ".", "..", "a\0b", "\ud800", "x" * 300],
}


def read(tmp_path: Path, line: str) -> str:
    path = tmp_path / "tasks.jsonl"
    path.write_text(f"{json.dumps(GOOD | {'id': 'first'})}\n{line}\n", encoding="utf-8", errors="surrogatepass")
    return refusal(lambda: read_tasks(path))


@pytest.mark.parametrize("kind", LINES)
def test_a_hostile_line_is_named(tmp_path: Path, kind: str) -> None:
    assert read(tmp_path, json.dumps(GOOD)) == ""
    assert "tasks.jsonl:2: " in read(tmp_path, LINES[kind])


@pytest.mark.parametrize("name", WRONG)
def test_a_field_of_another_type_is_named(tmp_path: Path, name: str) -> None:
    for value in WRONG[name]:
        assert "tasks.jsonl:2: " in read(tmp_path, json.dumps(GOOD | {name: value})), value


def test_names_that_look_like_markup_end_no_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """rich takes "[/red]" for the end of a style that never began."""
    tasks = [Task(str(number), "q", "http://a.com/", web_name=name) for number, name in enumerate(("[/red]", "[bold]"))]
    (tmp_path / "results").mkdir()
    print_summary(summarise(tmp_path / "results", tasks))
    print_overview(tasks)
    assert capsys.readouterr().out.count("[/red]") == 2

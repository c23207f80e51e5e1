"""Task files: the field's own, and what is wrong with a broken one."""

import pytest

from common.errors import UserError
from data.task import Task, move_sites, read_tasks, write_tasks

GOOD = '{"id": "a--0", "ques": "q", "web": "http://x/"}'


def test_reads_every_task_file_of_the_field(field_files):
    counts = {path.stem: len(read_tasks(path)) for path in (field_files / "tasks").rglob("*.jsonl")}
    assert counts["WebVoyager_test"] == 643
    assert counts["mind2web_test_cross_task"] == 112
    assert counts["general_google_search_460q"] == 460


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "2: not valid JSON"),
        ("[1]", "2: a task is a JSON object"),
        ('{"id": "b", "ques": "q"}', "2: the task needs a non-empty text field 'web'"),
        ('{"id": "b", "ques": "q", "web": "w", "color": 1}', "2: unknown task field 'color'"),
        (GOOD, "2: the id 'a--0' stands on an earlier line"),
        ('{"id": "../b", "ques": "q", "web": "w"}', "not a plain name"),
        ('{"id": "b--run3", "ques": "q", "web": "w"}', "ends as the folder of a try does"),
    ],
)
def test_a_broken_line_is_named(tmp_path, line, complaint):
    path = tmp_path / "tasks.jsonl"
    path.write_text(f"{GOOD}\n{line}\n")
    with pytest.raises(UserError, match=r"tasks\.jsonl") as error:
        read_tasks(path)
    assert complaint in str(error.value)


def test_missing_and_empty_files_are_named(tmp_path):
    with pytest.raises(UserError, match="no such task file"):
        read_tasks(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(UserError, match="holds no task"):
        read_tasks(tmp_path / "empty.jsonl")


def test_round_trip_and_moving_the_sites(tmp_path):
    tasks = [
        Task("a", "q", "http://shop.localhost:7070/x", eval={"eval_types": []}),
        Task("b", "q", "http://else:7070/"),
    ]
    write_tasks(tmp_path / "t.jsonl", tasks)
    assert read_tasks(tmp_path / "t.jsonl") == tasks
    assert [task.web for task in move_sites(tasks, 8123)] == ["http://shop.localhost:8123/x", "http://else:7070/"]


def test_a_question_may_hold_any_line_separator(tmp_path):
    tasks = [Task(id=f"a--{number}", ques=f"q\u2028\u0085\x1c{number}\n", web="http://x/") for number in range(2)]
    write_tasks(tmp_path / "tasks.jsonl", tasks)
    assert read_tasks(tmp_path / "tasks.jsonl") == tasks

"""Task files: the field's own, and what is wrong with a broken one."""

import codecs
import json

import pytest

from common.errors import UserError
from data.task import Task, move_sites, read_tasks, task_from_json, write_tasks

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
        ('{"id": true, "ques": "q", "web": "w"}', "2: the task needs a non-empty text field 'id'"),
        ('{"id": "b", "ques": "q", "web": "w", "color": "\\ud800"}', "half of a surrogate pair"),
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


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_any_encoding_and_line_end_of_the_field(tmp_path, encoding, line_end):
    lines = [GOOD, "", '{"id": "b--1", "ques": "caf\u00e9 \u4ef7", "web": "http://x/"}', ""]
    (tmp_path / "tasks.jsonl").write_bytes(line_end.join(lines).encode(encoding))
    assert [task.ques for task in read_tasks(tmp_path / "tasks.jsonl")] == ["q", "caf\u00e9 \u4ef7"]


@pytest.mark.parametrize("layout", ["list in lines", "list in one line", "one object in lines", "marked list"])
def test_lists_and_single_objects(tmp_path, layout):
    fields = json.loads(GOOD)
    content = {
        "list in lines": json.dumps([fields], indent=1),
        "list in one line": json.dumps([fields]),
        "one object in lines": json.dumps(fields, indent=1),
        "marked list": codecs.BOM_UTF8.decode() + json.dumps([fields]),
    }[layout]
    (tmp_path / "tasks.json").write_text(content, encoding="utf-8")
    assert read_tasks(tmp_path / "tasks.json") == [Task("a--0", "q", "http://x/")]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"[" + GOOD.encode() + b",]", "tasks.json: not valid JSON"),
        (f"[{GOOD}, {GOOD}]".encode(), "record 2: the id 'a--0' stands on an earlier line"),
        (b"\x89PNG\r\n\x1a\n\xff", "not a text file"),
        (b"PK\x03\x04\xff\xfe", "not a text file"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_list_of_tasks_is_one_line(tmp_path, content, complaint):
    (tmp_path / "tasks.json").write_bytes(content)
    with pytest.raises(UserError, match=r"tasks\.json") as error:
        read_tasks(tmp_path / "tasks.json")
    assert complaint in str(error.value) and "\n" not in str(error.value)


def test_fields_of_others_are_kept_and_named_once(tmp_path, capsys):
    lines = [
        {"id": 7, "ques": "q", "web": "http://x/", "task_id": "c61d", "Level": 1, "Final answer": float("nan")},
        {"id": 8, "ques": "q", "web": "http://x/", "web_name": None, "Level": 2},
        {"task_id": 9, "confirmed_task": "Find a tent", "website": "https://example.org/", "level": "easy"},
        {"task_id": 10, "instruction": "Find a tent", "start_url": "https://example.org/"},
    ]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    tasks = read_tasks(tmp_path / "tasks.jsonl")
    assert [(task.id, task.ques, task.web) for task in tasks] == [
        ("7", "q", "http://x/"), ("8", "q", "http://x/"), ("9", "Find a tent", "https://example.org/"),
        ("10", "Find a tent", "https://example.org/"),
    ]  # fmt: skip
    assert [task.site for task in tasks[1:3]] == ["x", "example.org"]
    assert tasks[0].extra == {"task_id": "c61d", "Level": 1, "Final answer": None}
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and said.endswith("are kept: task_id, Level, Final answer, level\n")
    write_tasks(tmp_path / "again.jsonl", tasks)
    assert read_tasks(tmp_path / "again.jsonl") == tasks and hash(tasks[0])


@pytest.mark.parametrize(
    ("fields", "site"),
    [
        ({"web": "http://rosa:tent@127.0.0.1:8751/two"}, "127.0.0.1"),
        ({"web": "https://rosa@shop.test/a@b?next=http://other.test/"}, "shop.test"),
        ({"web": "http://rosa:p%40ss:word@Shop.Test:80/"}, "shop.test"),
        ({"web": "http://[2001:db8::5]:8080/x"}, "2001:db8::5"),
        ({"web": "http://shop.localhost:7070/"}, "shop.localhost"),
        ({"web": "https://例え.test/"}, "例え.test"),
        ({"web": "http://[broken/x"}, "http://[broken/x"),
        ({"web": "__SHOPPING__/x"}, "__SHOPPING__/x"),
        ({"web": "http://a.test/", "web_name": "https://me:secret@b.test:81/c"}, "b.test"),
        ({"web": "http://a.test/", "website": "http://c.test"}, "c.test"),
        ({"web": "http://a.test/", "web_name": "Google Flights"}, "Google Flights"),
    ],
)
def test_a_sites_name_is_its_host(fields: dict[str, str], site: str) -> None:
    assert Task("1", "q", **fields).site == site


@pytest.mark.parametrize(
    ("fields", "read"),
    [
        ({"task_id": 7, "intent": "Buy", "start_url": "https://a.test"}, ("7", "Buy", "https://a.test")),
        ({"id": 3, "goal": "Buy", "url": "www.a.test"}, ("3", "Buy", "https://www.a.test")),
        ({"id": "x", "task": "Buy", "web": "a.test:80/b?c"}, ("x", "Buy", "https://a.test:80/b?c")),
        ({"annotation_id": "m", "confirmed_task": "Buy", "website": "united", "url": "u.com"}, ("m", "Buy", "https://u.com")),
        ({"annotation_id": "m", "confirmed_task": "Buy", "website": "united"}, None),
        ({"id": 3.0, "ques": "Buy", "web": "https://a.test"}, None),
    ],
)  # fmt: skip
def test_fields_by_the_names_of_other_projects(fields: dict, read: tuple[str, str, str] | None) -> None:
    if read is None:
        with pytest.raises(UserError):
            task_from_json(fields, "here")
        return
    task = task_from_json(fields, "here")
    assert (task.id, task.ques, task.web) == read


TABLE = """\
id\ttask_summary\tbenchmark\tinit_url\tprecomputed_rubric
flights_1\tFind a flight.\tflights\t\t"{""items"": []}"
shops_2\t"Buy a lamp,
and a shade."\tshopping\tshop.example\t
"""


def test_webtailbenchs_table(tmp_path, capsys):
    """What has no address begins where the benchmark's own runs do; reports group by its categories."""
    (tmp_path / "WebTailBench-v1-rubrics.tsv").write_text(TABLE)
    tasks = read_tasks(tmp_path / "WebTailBench-v1-rubrics.tsv")
    assert [(task.id, task.ques, task.web, task.site) for task in tasks] == [
        ("flights_1", "Find a flight.", "https://www.bing.com", "flights"),
        ("shops_2", "Buy a lamp,\nand a shade.", "https://shop.example", "shopping"),
    ]
    assert tasks[0].extra == {"precomputed_rubric": '{"items": []}'} and not tasks[1].extra
    assert "kept: precomputed_rubric" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"id\ttask_summary\nx\ty\n", "needs the columns id, task_summary, benchmark; benchmark is missing"),
        (b"", "id is missing"),
        (b"id\ttask_summary\tbenchmark\nx\ty\n", "tasks.tsv:2: has not as many columns"),
        (b"id\ttask_summary\tbenchmark\nx\ty\tz\tz\n", "tasks.tsv:2: has not as many columns"),
        (b"id\ttask_summary\tbenchmark\n../x\ty\tz\n", "tasks.tsv:2: the task id '../x' is not a plain name"),
        (b"id\ttask_summary\tbenchmark\nx\t\tz\n", "tasks.tsv:2: the task needs a non-empty text field 'ques'"),
        (b"id\ttask_summary\tbenchmark\nx\t" + b"y" * 200_000 + b"\tz\n", "field larger than field limit"),
        (b"\x89PNG\r\n\x1a\n\xff", "not tab-separated values"),
    ],
)
def test_a_broken_table_is_one_line(tmp_path, content, complaint):
    (tmp_path / "tasks.tsv").write_bytes(content)
    with pytest.raises(UserError, match=r"tasks\.tsv") as error:
        read_tasks(tmp_path / "tasks.tsv")
    assert complaint in str(error.value) and "\n" not in str(error.value)

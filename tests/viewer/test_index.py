"""The index of trajectories: what it reads and when, and what is found in it."""

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from data.outcome import Outcome, Verdict
from data.trajectory import write_outcome
from environments.sites.words import SPLITS
from tests.toolkits.trajectories import write_trajectory
from tests.viewer.conftest import Opened, rows
from viewer.answers import Answers
from viewer.catalog import index as index_module
from viewer.catalog.heads import Head
from viewer.catalog.index import Index


def test_the_index_reads_what_is_new_or_changed_and_nothing_else(tmp_path: Path, opened: Opened, monkeypatch) -> None:
    first = write_trajectory(tmp_path / "r", "Shop--1", num_steps=2, verdict=None)
    write_trajectory(tmp_path / "r", "Shop--2", num_steps=2)
    answers = opened(tmp_path / "r")
    assert {name: row["outcome"] for name, row in rows(answers, "r").items()} == {
        "taskShop--1": "unjudged",
        "taskShop--2": "success",
    }
    read = []
    read_head = index_module.read_head
    monkeypatch.setattr(index_module, "read_head", lambda folder: read.append(folder.name) or read_head(folder))
    write_outcome(first, Outcome(Verdict.FAILURE, "no"))
    write_trajectory(tmp_path / "r", "Shop--3", status=None)
    answers.index.refresh()
    assert sorted(read) == ["taskShop--1", "taskShop--3"]
    found = rows(answers, "r")
    assert (found["taskShop--3"]["outcome"], found["taskShop--1"]["reason"]) == ("unfinished", "no")
    read.clear()
    again = opened(tmp_path / "r")  # another start reads the index alone
    assert not read and len(rows(again, "r")) == 3


def test_it_keeps_up_while_somebody_looks(tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "_EVERY_S", 0.05)
    write_trajectory(tmp_path / "r", "Shop--1")
    answers = opened(tmp_path / "r")
    answers.index.start()
    time.sleep(0.5)
    write_trajectory(tmp_path / "r", "Shop--2")
    deadline = time.monotonic() + 20
    while len(rows(answers, "r")) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)  # an open page asks, as `rows` does


def test_what_cannot_be_read_is_told_and_ends_nothing(
    tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "_EVERY_S", 0.05)
    write_trajectory(tmp_path / "r", "Shop--1")
    answers = opened(tmp_path / "r")
    monkeypatch.setattr(answers.index, "refresh", lambda: 1 // 0)
    answers.index.start()
    for problem in ("what is new cannot be read for now: integer division or modulo by zero", ""):
        deadline = time.monotonic() + 20
        while (found := json.loads(answers.answer("state", {}))["problem"]) != problem:
            assert time.monotonic() < deadline, found
            time.sleep(0.02)
        monkeypatch.undo()


def test_any_clock_and_any_change_of_verdicts_is_noticed(tmp_path: Path, opened: Opened) -> None:
    first, old = (write_trajectory(tmp_path / "r", f"Shop--{number}", num_steps=1) for number in (1, 2))
    os.utime(first, (2**33 + 2**31,) * 2)  # later than SQLite's numbers reach
    os.utime(old, (0, 0))
    answers = opened(tmp_path / "r")
    judges = tmp_path / "r" / ".agreement"

    def disagree() -> list[int]:
        answers.index.refresh()
        return [row["disagrees"] for row in rows(answers, "r").values()]

    assert [row["outcome"] for row in rows(answers, "r").values()] == ["success"] * 2
    for judge, verdict in (("gpt", "success"), ("person", "failure")):
        (judges / judge).mkdir(parents=True)
        for name in (f"{first.name}.json", ".being-written"):
            (judges / judge / name).write_text(json.dumps({"verdict": verdict}))
    assert disagree() == [1, 0]
    (judges / "person" / f"{first.name}.json").unlink()
    assert disagree() == [0, 0]


def test_one_judge_alone_disagrees_with_nobody(tmp_path: Path, opened: Opened) -> None:
    folder = write_trajectory(tmp_path / "r", "Shop--1", num_steps=1, verdict=None)
    disagree = []
    for judge, verdict in (("person", "success"), ("gpt", "failure")):
        (tmp_path / "r" / ".agreement" / judge).mkdir(parents=True)
        (tmp_path / "r" / ".agreement" / judge / f"{folder.name}.json").write_text(json.dumps({"verdict": verdict}))
        disagree.append(rows(opened(tmp_path / "r"), "r")[folder.name]["disagrees"])
    assert disagree == [0, 1]


def test_where_no_index_can_be_kept_one_does_that_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_trajectory(tmp_path / "r", "Shop--1", num_steps=1)
    (tmp_path / "temporary").mkdir()
    for name in ("TMPDIR", "SQLITE_TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path / "temporary"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    for kept in (Path("/proc/self/no"), folder / "steps.jsonl"):  # read-only; no folder
        monkeypatch.setenv("XDG_CACHE_HOME", str(kept))
        answers = Answers(Index([tmp_path / "r"]))
        answers.index.refresh()
        assert rows(answers, "r")[folder.name]["outcome"] == "success"
        assert len(json.loads(answers.answer("search", {"run": "r", "words": "find shoe"}))) == 1
    assert not [*(tmp_path / "temporary").iterdir()]


def test_what_goes_while_it_is_listed_takes_nothing_else_with_it(
    tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2):
        write_trajectory(tmp_path / "r", f"Shop--{number}", num_steps=1)
    answers, listed = opened(tmp_path / "r"), index_module.trajectory_folders

    def late(path: Path) -> Iterator[os.DirEntry]:
        entries = list(listed(path))
        shutil.rmtree(path / "taskShop--1", ignore_errors=True)
        yield from entries

    monkeypatch.setattr(index_module, "trajectory_folders", late)
    answers.index.refresh()
    assert list(rows(answers, "r")) == ["taskShop--2"]
    monkeypatch.setattr(index_module, "trajectory_folders", lambda path: os.scandir(path / "may not be listed"))
    answers.index.refresh()
    assert list(rows(answers, "r")) == ["taskShop--2"]


def test_a_row_tells_family_reason_and_surprise_in_plain_words(tmp_path: Path, opened: Opened) -> None:
    for split in SPLITS:
        folder = write_trajectory(tmp_path / "r", f"Shop-cart-{split}--001", num_steps=1)
        reason = "answered 'hecad', expected must_include ['zibag']"
        write_outcome(folder, Outcome(Verdict.FAILURE, reason, "oracle"))
        step = json.loads((folder / "steps.jsonl").read_text())
        (folder / "steps.jsonl").write_text(json.dumps(step | {"logprobs": [0.0, 0.0]}) + "\n")
    found = rows(opened(tmp_path / "r"), "r").values()
    assert len(found) == len(SPLITS) and {row["family"] for row in found} == {"Shop-cart"}
    assert {row["reason"] for row in found} == {"answered 'hecad', expected an answer with 'zibag'"}
    assert {row["surprise"] for row in found} == {None}  # greedy


def test_a_page_of_rows_comes_before_all_folders_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        write_trajectory(tmp_path / "r", f"Shop--{number}", num_steps=1)
    read_head, may_go_on = index_module.read_head, threading.Event()

    def slowly(folder: Path) -> Head:
        assert folder.name == "taskShop--0" or may_go_on.wait(30)
        return read_head(folder)

    monkeypatch.setattr(index_module, "read_head", slowly)
    monkeypatch.setattr(index_module, "_FIRST_CHUNK", 1)
    answers = Answers(Index([tmp_path / "r"], tmp_path / "index.sqlite"))
    answers.index.start()
    found = json.loads(answers.answer("rows", {"run": "r"}))
    assert found["columns"]["outcome"][0] == "success" and found["num_unread"] == 3
    may_go_on.set()
    deadline = time.monotonic() + 20
    while json.loads(answers.answer("rows", {"run": "r"}))["num_unread"]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert [row["outcome"] for row in rows(answers, "r").values()] == ["success"] * 4


def test_words_are_found_wherever_they_stand(tmp_path: Path, opened: Opened) -> None:
    folder = write_trajectory(tmp_path / "r", "Shop--1", num_steps=2)
    write_trajectory(tmp_path / "r", "Shop--2", num_steps=2)
    write_trajectory(tmp_path / "other", "Shop--1", num_steps=2)
    step = json.loads((folder / "steps.jsonl").read_text().splitlines()[0])
    thought = f'{"far " * 8000}it\'s 100% "un_der" ΟΔΟΣΑ Straße\x00 after* -- NEAR(a b) 日本語'
    typed = [{"kind": "Write", "arguments": {"content": "mañana"}}]
    lines = [{**step, "reply": f"Thought: {thought}\n\nAction: Click [1]"}, {**step, "number": 2, "actions": typed}]
    summary = json.loads((folder / "trajectory.json").read_text())
    summary["task"]["ques"] += f"{'and ' * 100}giraffe"
    (folder / "trajectory.json").write_text(json.dumps(summary))
    (folder / "steps.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    answers = opened(tmp_path / "r", tmp_path / "other")

    def found(words: str) -> list[str]:
        ids = json.loads(answers.answer("search", {"run": "r", "words": words}))
        return [name for name, row in rows(answers, "r").items() if row["id"] in ids]

    one = [folder.name]
    for words in (
        "100%",
        "un_der",
        "οδος",
        "STRASSE",
        "after*",
        "tra",
        "NEAR(a",
        "本",
        "it's",
        "-- 0% far",
        '"',
        "man\u0303ana",
        "giraffe",
    ):
        assert found(words) == one, words
    for words in ("10%%", "un%der", "under", "afters", "far zebra", "' OR 1=1", "far " * 150 + "zebra"):
        assert found(words) == [], words
    assert len(found("FIND shoe")) == 2 == len(found(" "))


def test_a_damaged_index_is_made_anew(tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "_EVERY_S", 0.05)
    for number in range(4):
        write_trajectory(tmp_path / "r", f"Shop--{number}", num_steps=1)
    opened(tmp_path / "r")
    kept = tmp_path / "cache" / "index.sqlite"
    with contextlib.closing(sqlite3.connect(kept)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = kept.read_bytes()
    kept.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    index = Index([tmp_path / "r"], kept)
    index.start()
    deadline = time.monotonic() + 20
    while len(index.heads(index.runs[0].sets[0])) < 4:
        assert time.monotonic() < deadline
        time.sleep(0.02)

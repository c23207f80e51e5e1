"""The viewer: what it finds, what it tells of it, whom it answers, what it writes."""

import dataclasses
import json
import math
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow
import pytest
from PIL import Image
from pyarrow import parquet
from starlette.testclient import TestClient

from common.files import write_json
from data.actions.point_action import ActionRecord, ClickAt, Write
from data.actions.screen import REL1000, Point, Screen
from data.conversation import StepText, build_conversation
from data.outcome import Outcome, Verdict
from data.trajectory import INVALID, MAX_STEPS, read_outcome, read_trajectory, write_outcome
from tests.conftest import ROOT
from tests.toolkits.trajectories import write_trajectory
from tests.viewer.conftest import TOKEN, Opened, rows
from tests.viewer.hostile import write_hostile
from viewer.__main__ import main as view
from viewer.options import ViewConfig
from viewer.trajectory import thoughts
from viewer.trajectory.acted import named


def test_tests_are_told_by_task_family(tmp_path: Path, opened: Opened) -> None:
    for folder, outcomes in {"IL": "sf", "optim-1": "ss"}.items():
        for number, outcome in enumerate(outcomes):
            verdict = Verdict.SUCCESS if outcome == "s" else Verdict.FAILURE
            write_trajectory(tmp_path / "night" / folder / "test", f"Shop-price--{number}", 0, verdict=verdict)
    write_trajectory(tmp_path / "night" / "IL" / "test", "Shop-cart--9", 0, verdict=None)  # proves nothing
    families = json.loads(opened(tmp_path / "night").answer("run", {"run": "night"}))["families"]
    assert families == {"Shop-price": {"night/IL/test": [1, 2], "night/optim-1/test": [2, 2]}}


def test_a_run_is_told_by_its_rounds_sets_stages_and_curves(tmp_path: Path, opened: Opened) -> None:
    run = tmp_path / "night"
    tries = run / "optim-1" / "trajectories"
    for task, outcomes in {"Shop--1": "fs", "Shop--2": "ff", "Shop--3": "s"}.items():
        for number, outcome in enumerate(outcomes):
            write_trajectory(tries, task, number, verdict=Verdict.SUCCESS if outcome == "s" else Verdict.FAILURE)
    broken = write_trajectory(tries, "Shop--4", 0, status=INVALID)
    write_outcome(broken, Outcome(Verdict.INVALID, "page: it crashed"))
    (run / "stages").mkdir()
    (run / "stages" / "IL.train.json").write_text('{"stage": "IL/train", "seconds": 90.5, "finished_at": 5}')
    (run / "recipe.json").write_text("{}")
    change = {"won": 2, "lost": 1, "mean": 0.1, "p_value": 0.5, "interval": [-0.1, 0.3]}
    tested = {
        "name": "IL",
        "success_rate": 0.5,
        "num_tasks": 4,
        "num_success": 2,
        "interval": [0.2, 0.8],
        "change": change,
    }
    (run / "summary.json").write_text(json.dumps({"rounds": [tested]}))
    log = run / "IL" / "training" / "log" / "IL"
    log.mkdir(parents=True)
    lines = [
        {"iteration": at, "loss": 1 / at, "num_tokens": 500, "step_seconds": 0.5, "skipped": None} for at in (1, 2)
    ]
    (log / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"iteration": 3, "lo')

    spoilt = [{"iteration": at, "loss": math.nan if at > 999 else 1.0, "norm": 1e300} for at in range(1, 1004)]
    (log.parent / "spoilt").mkdir()
    (log.parent / "spoilt" / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in spoilt))

    write_trajectory(run / "live", "Shop--1", verdict=None)  # nobody says that it failed
    answers = opened(run)
    told = json.loads(answers.answer("run", {"run": "night"}))
    assert told["rounds"][0]["change"] == change and told["rounds"][0]["interval"] == [0.2, 0.8]
    unjudged, found = told["sets"]
    assert (unjudged["num_tasks"], unjudged["rate"], unjudged["interval"]) == (0, None, None)
    assert (found["name"], found["num_tasks"], found["num_solved"]) == ("optim-1/trajectories", 3, 2)
    assert found["s_at"] == [1 / 3, 2 / 3] and found["f_at_1"] == 1
    assert told["stages"] == [["IL/train", 90.5]] and told["faults"] == [["invalid, page", 1]]
    training, spoilt = json.loads(answers.answer("curves", {"run": "night"}))
    losses = dict(spoilt["curves"]["loss"])  # of every second line, and of the first that is no number
    assert (losses[999], losses[1000], losses[1003], len(losses)) == (1, None, None, 503)
    assert {*dict(spoilt["curves"]["norm"]).values()} == {None}
    assert training["curves"]["loss"] == [[1, 1], [2, 0.5]] and training["curves"]["tokens_per_s"] == [
        [1, 1000],
        [2, 1000],
    ]


def test_a_trajectory_shows_where_it_acted_and_what_is_thought_of_it(
    tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_trajectory(tmp_path / "IL" / "trajectories", "Shop--3", num_steps=3)
    (folder / "boxes2.json").write_text('{"1": [0, 0, 10, 10], "2": [5, 6, 70, 8]}')
    (folder.parent.parent / "columns").mkdir()
    keys = [f"Shop--00003--r02--step0{number}" for number in (1, 2, 3)] + ["Shop--00003--r02--step02--c1"]
    table = {"id": keys, "value_1": [0.1, 0.2, 0.3, None], "advantage": [0.0, -0.5, 0.25, 0.75]}
    parquet.write_table(pyarrow.table(table), folder.parent.parent / "columns" / "algorithm.parquet")
    drawn = {"id": [keys[1]], "candidates": [["Thought: or.\n\nAction: Click [1]"]]}
    parquet.write_table(pyarrow.table(drawn), folder.parent.parent / "candidates.parquet")

    answers = opened(tmp_path)
    key = f"{tmp_path.name}/IL/trajectories"
    told = json.loads(answers.answer("trajectory", {"set": key, "name": folder.name}))
    second = told["steps"][1]
    assert (second["thought"], second["action"], second["labels"]) == ("step 2.", "Click [2] 'shoe'", [2])
    assert second["boxes"]["2"] == [5, 6, 70, 8] and second["columns"] == {"value_1": 0.2, "advantage": -0.5}
    assert second["candidates"] == [{"action": "Click [1] 'Shop 2'", "columns": {"advantage": 0.75}}]
    tree = f"[4] a '<b>7 {'x' * 99}'\n\t[7] b 'it's'  c: 'd'"
    assert named("Thought: x.\n\nAction: Drag [4]; [7]", tree).endswith("x...'; [7] 'it's'")
    assert "[2] link 'shoe'" in second["tree"] and told["problems"] == []
    assert json.loads(answers.answer("thoughts", {"run": tmp_path.name})) == {key: {folder.name: [0.1, -0.5]}}
    written = folder.parent.parent / "columns" / "algorithm.parquet"
    parquet.write_table(pyarrow.table({"id": keys, "value": [None, 4, 5, 1], "advantage": [1e300, 2, -3, 9]}), written)
    assert json.loads(answers.answer("thoughts", {"run": tmp_path.name})) == {key: {folder.name: [4, -3]}}
    assert (
        answers.screenshot({"set": key, "name": folder.name, "number": "2"})
        == (folder / "screenshot2.png").read_bytes()
    )
    parquet.write_table(pyarrow.table({"id": keys, "value": [math.nan, 4, 5, 1]}), written)
    assert json.loads(answers.answer("thoughts", {"run": tmp_path.name})) == {key: {folder.name: [None, None]}}
    monkeypatch.setattr(thoughts, "_MOST", 2)  # of rows: a file may hold millions of one trajectory
    told = json.loads(answers.answer("trajectory", {"set": key, "name": folder.name}))
    assert [step["columns"] for step in told["steps"]] == [{"value": None}, {"value": 4}, {}]


def test_the_prompt_is_the_one_that_the_collector_builds(tmp_path: Path, client: Callable[..., TestClient]) -> None:
    folder = write_trajectory(tmp_path / "r", "Shop--3", num_steps=3)
    asked, where = client(tmp_path / "r"), {"set": "r/.", "name": folder.name}
    chat = asked.get("/answer/prompt", params={**where, "number": "2"}).json()
    assert [message["role"] for message in chat] == ["system", "user", "assistant", "user"]
    assert chat[0]["text"] == "You browse." and "(screenshot of step 2)" in chat[-1]["text"]
    summary = json.loads((folder / "trajectory.json").read_text())
    summary["provenance"] = {"prompt": "trained", "max_attached_imgs": 1}
    (folder / "trajectory.json").write_text(json.dumps(summary))
    turns = asked.get("/answer/prompt", params={**where, "number": "3"}).json()
    trajectory = read_trajectory(folder)
    expected = build_conversation(trajectory.ques, [*trajectory.texts()[:2], StepText(trajectory.trees[2])], last_n=1)
    assert [turn["text"] for turn in turns] == [turn.text for turn in expected.turns]
    assert asked.get("/answer/prompt", params={**where, "number": "4"}).status_code == 422


def test_released_trajectories_are_shown_as_ours(opened: Opened) -> None:
    answers = opened(ROOT / "tests" / "fixtures" / "openwebvoyager" / "trajectories")
    name = "taskBookshop-human-extend--004"
    assert rows(answers, "trajectories")[name]["steps"] == 5
    told = json.loads(answers.answer("trajectory", {"set": "trajectories/.", "name": name}))
    acted = next(step for step in told["steps"] if step["labels"])
    assert acted["boxes"][str(acted["labels"][0])] and told["ques"] and not told["problems"]


def test_what_a_folder_lacks_hides_nothing_else(tmp_path: Path, opened: Opened) -> None:
    released, broken = (write_trajectory(tmp_path / "r", f"Shop--{number}", num_steps=3) for number in (1, 2))
    for name in ("trajectory.json", "steps.jsonl", "outcome.json", "screenshot2.png", "accessibility_tree3.txt"):
        (released / name).unlink()
    lines = (broken / "steps.jsonl").read_text().splitlines(keepends=True)
    (broken / "steps.jsonl").write_text(lines[0] + '{"number": 2, "re\n' + lines[2])
    answers = opened(tmp_path / "r")
    assert rows(answers, "r")[released.name]["outcome"] == "success"
    told = [json.loads(answers.answer("trajectory", {"set": "r/.", "name": one.name})) for one in (released, broken)]
    assert [len(one["steps"]) for one in told] == [3, 3]
    assert told[0]["steps"][1]["action"].startswith("Click [2]") and "tree3.txt is missing" in told[0]["problems"][0]
    last = told[1]["steps"][2]
    assert (last["number"], last["thought"]) == (3, "step 3.") and "Shop 3" in last["tree"]
    assert "steps.jsonl, line 2" in told[1]["problems"][0]


def test_a_touched_point_is_told_as_shares_of_the_screen(tmp_path: Path, opened: Opened) -> None:
    folder = write_trajectory(tmp_path / "r", "Shop--1", num_steps=1)
    step = json.loads((folder / "steps.jsonl").read_text())
    point = '"action_type": "DUAL_POINT", "touch_point": "[0.25, 0.5]", "lift_point": "[0.75, 0.5]", "typed_text": ""'
    step["reply"] = f"Action Plan: [DUAL_POINT] ; Action Decision: {point}"
    (folder / "steps.jsonl").write_text(json.dumps(step) + "\n")
    answers = opened(tmp_path / "r")
    told = json.loads(answers.answer("trajectory", {"set": "r/.", "name": folder.name}))["steps"][0]
    assert told["places"] == [[[0.5, 0.25], [0.5, 0.75]]] and told["action"] == step["reply"]


def test_what_was_done_by_coordinates_is_told_with_its_place(tmp_path: Path, opened: Opened) -> None:
    folder = write_trajectory(tmp_path / "r", "Shop--1", num_steps=1)
    step = json.loads((folder / "steps.jsonl").read_text())
    screen = Screen((1024, 768), (2048, 1536))
    click, write = ClickAt(Point(256, 192, (250, 250))), Write("lamp", enter=True)
    records = [ActionRecord.of("webgym", REL1000, screen, action) for action in (click, write)]
    step |= {"reply": "I click and type.", "actions": [dataclasses.asdict(record) for record in records]}
    (folder / "steps.jsonl").write_text(json.dumps(step) + "\n")
    answers = opened(tmp_path / "r")
    told = json.loads(answers.answer("trajectory", {"set": "r/.", "name": folder.name}))["steps"][0]
    assert told["places"] == [[[0.25, 0.25]]] and told["thought"] == "I click and type."
    assert told["action"].startswith("ClickAt (256, 192) button=left") and "; Write content=lamp" in told["action"]


@pytest.mark.parametrize(
    ("reply", "labels", "place"),
    [
        ("Action: tap(5)", [5], [[0.5, 0.1]]),
        ('Action: swipe(5, "up", "medium")', [5], [[0.5, 0.1 + 1 / 3], [0.5, 0]]),
        ('Action: swipe(-1, "up", "medium")', [], [[0.5, 0.5 + 1 / 3], [0.5, 0.5 - 1 / 3]]),
        ("Action: home()", [], None),
        ("Action: tap(6)", [6], None),  # which lies below the screen
    ],
)
def test_a_finger_on_a_numbered_element_is_drawn(
    reply: str, labels: list[int], place: list | None, tmp_path: Path, opened: Opened
) -> None:
    folder = write_trajectory(tmp_path / "r", "Phone--1", num_steps=1)
    write_json(folder / "boxes1.json", {"5": [100, 60, 200, 60], "6": [0, 1000, 400, 60]})
    summary = json.loads((folder / "trajectory.json").read_text())
    summary["provenance"] = {"action_space": "appagent", "touch": True, "viewport": [400, 900]}
    (folder / "trajectory.json").write_text(json.dumps(summary))
    step = json.loads((folder / "steps.jsonl").read_text()) | {"reply": f"Thought: I see it.\n{reply}"}
    (folder / "steps.jsonl").write_text(json.dumps(step) + "\n")
    told = json.loads(opened(tmp_path / "r").answer("trajectory", {"set": "r/.", "name": folder.name}))["steps"][0]
    assert told["labels"] == labels
    flat = [share for one in told["places"] for point in one for share in point]
    assert flat == pytest.approx([share for point in place or [] for share in point], abs=0.002)


def test_one_trajectory_is_exported_as_a_page_and_a_gif_that_marks_where_it_acted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = write_trajectory(tmp_path / "r", "Shop--1", num_steps=3)
    write_trajectory(tmp_path / "r", "Shop--2")
    (folder / "boxes2.json").write_text('{"2": [8, 6, 16, 12]}')
    (tmp_path / "tasklink").symlink_to(folder)
    view(ViewConfig((tmp_path / "tasklink",), export=tmp_path / "out", gif=True))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["index.gif", "index.html"]
    with Image.open(tmp_path / "out" / "index.gif") as film:
        assert (film.format, film.n_frames) == ("GIF", 3)
        marked = []
        for number in range(3):
            film.seek(number)
            colors = {color for _, color in film.convert("RGB").crop((0, 0, 720, 540)).getcolors(2**24)}
            marked.append(any(abs(r - 0xC2) + g + abs(b - 0x6B) < 30 for r, g, b in colors))
    assert marked == [False, True, False]


def test_the_commands_take_the_task_again_with_the_server_that_answered(tmp_path: Path, opened: Opened) -> None:
    """Of two that wrote the round's server.log one after the other."""
    results = tmp_path / "night" / "IL" / "test"
    folder, logs = write_trajectory(results, "Shop--1"), tmp_path / "night" / "IL" / "logs"
    logs.mkdir()
    serve = "$ OMP_NUM_THREADS=1 /venv/python3 server/hf_online_server.py --model_name_or_path {} --port {}\nserving\n"
    (logs / "server.log").write_text(serve.format("a", 5001) + serve.format(results.parent / "policy", 5002))
    asked = f"--test_file t.jsonl --output_dir {results} --api_localhost http://127.0.0.1:5002/predict"
    (logs / "test.log").write_text(f"$ /venv/python3 collection/run.py {asked}\n")
    told = json.loads(opened(tmp_path / "night").answer("trajectory", {"set": "night/IL/test", "name": folder.name}))
    task, server, again = told["commands"]
    assert "Find a shoe." in task and task.endswith("> task.jsonl")
    assert server == f"python server/hf_online_server.py --model_name_or_path {results.parent}/policy --port 5002 &"
    assert again.startswith("python collection/run.py --test_file task.jsonl --output_dir again --api_localhost")
    shutil.move(tmp_path / "night", tmp_path / "moved")
    told = json.loads(opened(tmp_path / "moved").answer("trajectory", {"set": "moved/IL/test", "name": folder.name}))
    assert [line.replace("/moved/", "/night/") for line in told["commands"]] == [task, server, again]
    assert f"--model_name_or_path {tmp_path}/moved/IL/policy" in told["commands"][1]


def test_the_server_may_stand_in_the_log_of_the_round_that_explored_meanwhile(tmp_path: Path, opened: Opened) -> None:
    results = tmp_path / "night" / "IL" / "test"
    folder = write_trajectory(results, "Shop--1")
    typed = {
        "IL/logs/test.log": f"collection/run.py --output_dir {results} --api_localhost http://127.0.0.1:5002/predict",
        "optim-1/logs/server.log": "server/hf_online_server.py --model_name_or_path a --port 5002",
    }
    for name, words in typed.items():
        (tmp_path / "night" / name).parent.mkdir(parents=True)
        (tmp_path / "night" / name).write_text(f"$ /venv/python3 {words}\n")
    told = json.loads(opened(tmp_path / "night").answer("trajectory", {"set": "night/IL/test", "name": folder.name}))
    assert told["commands"][1] == "python server/hf_online_server.py --model_name_or_path a --port 5002 &"


def test_who_asks_needs_the_token_and_websites_get_nothing(tmp_path: Path, client: Callable[..., TestClient]) -> None:
    write_trajectory(tmp_path / "r", "Shop--1")
    own = client(tmp_path / "r")
    found = own.get("/answer/state")
    assert found.status_code == 200 and "script-src 'self'" in found.headers["content-security-policy"]
    assert own.get("/answer/state", headers={"origin": "http://evil.example"}).status_code == 403
    assert own.get("/../../etc/passwd").status_code == 404 == own.get("/..%2f__main__.py").status_code
    there = client(tmp_path / "r", cookies={})
    assert there.get("/").status_code == 403 == there.get("/answer/state?token=wrong").status_code
    assert there.get(f"/?token={TOKEN}").status_code == 200 == there.get("/answer/state").status_code  # by its cookie
    assert there.get("http://evil.example:8090/answer/state").status_code == 403  # a name that was led here
    assert there.get("/", headers={"cookie": 'x={"a": 1}; elcano_view_8090=secret'}).status_code == 200
    assert there.get("http://localhost:8091/").status_code == 403  # another viewer there has a cookie of its own


def test_a_label_is_one_more_judge(tmp_path: Path, client: Callable[..., TestClient]) -> None:
    folder = write_trajectory(tmp_path / "r", "Shop--1", status=MAX_STEPS, verdict=Verdict.FAILURE)
    asked, where = client(tmp_path / "r"), {"set": "r/.", "name": folder.name}
    assert asked.post("/label", params=where, json={"verdict": "success", "note": "it did"}).status_code == 204
    [said] = (tmp_path / "r" / ".agreement" / "person").iterdir()
    assert json.loads(said.read_text()) == Outcome(Verdict.SUCCESS, "it did", "person").to_json()
    assert read_outcome(folder).verdict is Verdict.FAILURE
    assert asked.get("/answer/trajectory", params=where).json()["verdicts"][1]["reason"] == "it did"
    again = said.parent.parent / "test" / said.name  # what `judge_agreement.py` keeps of the judge that was there
    again.parent.mkdir()
    again.write_text((folder / "outcome.json").read_text())
    assert len(asked.get("/answer/trajectory", params=where).json()["verdicts"]) == 2
    assert asked.post("/label", params=where, json={"verdict": "blocked"}).status_code == 422
    assert asked.post("/label", params={**where, "name": "../x"}, json={"verdict": "success"}).status_code == 404
    assert asked.post("/label", params=where, json={"verdict": 3}).status_code == 422 and said.exists()
    blind = asked.post("/label", params=where, json={"verdict": "failure", "note": "no", "replaces": None})
    assert blind.status_code == 422 and "meanwhile it was labeled success (it did)" in blind.text
    seen = {"verdict": "success", "note": "it did"}
    for verdict in ("failure", "success"):
        body = {"verdict": verdict, "note": "expected exact_match x", "replaces": seen}
        assert asked.post("/label", params=where, json=body).status_code == 204
        seen = {"verdict": verdict, "note": "expected the answer x"}  # as the page tells it
    assert asked.post("/label", params=where, json={"verdict": ""}).status_code == 204 and not said.exists()
    with ThreadPoolExecutor(8) as people:
        many = list(people.map(lambda _: asked.post("/label", params=where, json={"verdict": "success"}), range(40)))
    assert {one.status_code for one in many} == {204} and [*said.parent.iterdir()] == [said]
    said.parent.rename(tmp_path / "elsewhere")
    said.parent.symlink_to(tmp_path / "elsewhere")
    assert asked.post("/label", params=where, json={"verdict": ""}).status_code == 422
    assert (tmp_path / "elsewhere" / said.name).exists()
    shutil.rmtree(tmp_path / "r")
    assert asked.post("/label", params=where, json={"verdict": "success"}).status_code == 404
    assert not (tmp_path / "r").exists()


def test_two_sets_are_compared_on_the_tasks_of_both(tmp_path: Path, opened: Opened) -> None:
    for task in range(4):
        write_trajectory(tmp_path / "r" / "a", f"Shop--{task}", verdict=Verdict.FAILURE, num_steps=3)
        write_trajectory(tmp_path / "r" / "b", f"Shop--{task}", verdict=Verdict.SUCCESS if task else Verdict.FAILURE)
    write_trajectory(tmp_path / "r" / "a", "Shop--9")
    write_trajectory(tmp_path / "r" / "b", "Shop--9", verdict=None)  # neither won nor lost
    told = json.loads(opened(tmp_path / "r").answer("compare", {"before": "r/a", "after": "r/b"}))
    assert told["unproven"] == [0, 1]
    assert (told["change"]["won"], told["change"]["lost"], told["change"]["p_value"]) == (3, 0, 0.25)
    assert [row["parts_at"] for row in told["tasks"]] == [3] * 4 and told["tasks"][-1]["task"] == "Shop--0"
    assert told["tasks"][0]["did"] == ["ANSWER; blue", "Click [3]"]


def test_released_trajectories_and_coordinates_part_where_they_do_something_else(
    tmp_path: Path, opened: Opened
) -> None:
    for number, name in enumerate(("a", "b")):
        verdict = (Verdict.FAILURE, Verdict.SUCCESS)[number]
        released = write_trajectory(tmp_path / "r" / name, "Shop--1", num_steps=3 + number, verdict=verdict)
        for file in ("trajectory.json", "steps.jsonl"):
            (released / file).unlink()
        pointing = write_trajectory(tmp_path / "r" / name, "Shop--2", num_steps=2, verdict=verdict)
        steps = [json.loads(line) for line in (pointing / "steps.jsonl").read_text().splitlines()]
        for step in steps:
            place = [30 * number, 5] if step["number"] == 2 else [5, 5]
            step |= {"reply": f"{name} thinks otherwise", "actions": [{"kind": "ClickAt", "css": [place]}]}
        (pointing / "steps.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps))
    told = json.loads(opened(tmp_path / "r").answer("compare", {"before": "r/a", "after": "r/b"}))
    assert {row["task"]: (row["parts_at"], row["did"]) for row in told["tasks"]} == {
        "Shop--1": (3, ["ANSWER; blue", "Click [3]"]),
        "Shop--2": (2, ["ClickAt (0, 5)", "ClickAt (30, 5)"]),
    }


def test_whatever_lies_in_a_folder_is_shown_or_left_out_with_a_line(
    tmp_path: Path, client: Callable[..., TestClient]
) -> None:
    assert write_hostile(tmp_path / "r") >= 300
    asked = client(tmp_path / "r")
    told = asked.get("/answer/rows", params={"run": "r"})
    names = told.json()["columns"]["name"]
    assert asked.get("/answer/run", params={"run": "r"}).json()["num_left_out"] >= 2
    assert not {"taskLink", "task"} & set(names) and len(names) >= 295
    secret = Path("/etc/passwd").read_text().splitlines()[0]
    for name in names:
        found = asked.get("/answer/trajectory", params={"set": "r/.", "name": name})
        assert found.status_code == 200 and secret not in found.text, name
        told = json.loads(found.text, parse_constant=pytest.fail)  # browsers know no Infinity
        assert told["steps"] or told["problems"] or name.startswith(("taskX", "taskBroken--8"))  # no step was written
        prompt = asked.get("/answer/prompt", params={"set": "r/.", "name": name, "number": "1"})
        assert prompt.status_code in (200, 422) and secret not in prompt.text
        for picture in ("/screenshot", "/thumbnail"):
            image = asked.get(picture, params={"set": "r/.", "name": name, "number": "1"})
            assert image.status_code in (200, 404, 422) and secret not in image.text
    for name in names[::20]:
        assert asked.get("/answer/tokens", params={"set": "r/.", "name": name}).status_code == 422  # no policy is there
        film = asked.get("/film", params={"set": "r/.", "name": name})
        assert film.status_code == 422 or film.content.startswith(b"GIF89a")
    for name in ("..", ".", "taskLink", "taskText--0/../taskText--1", "taskText--0/", "/etc"):
        assert asked.get("/answer/trajectory", params={"set": "r/.", "name": name}).status_code == 404
    assert asked.get("/screenshot", params={"set": "r/.", "name": names[0], "number": "../1"}).status_code == 404
    assert asked.get("/export", params={"set": "r/.", "name": "taskText--1"}).text.count("<script") == 2

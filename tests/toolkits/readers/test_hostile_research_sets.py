"""Files of research sets that lie, blow up or carry code: one line each, nothing run, nothing written elsewhere."""

import gzip
import json
import os
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from common.errors import UserError
from tests.toolkits.research import RESEARCH
from tests.toolkits.research.screens import pictures, png
from tests.toolkits.research.tf_records import example, tfrecord
from tests.toolkits.research.websites import mind2web_rows
from toolkits import import_data

Case = tuple[str, Callable[[Path], str]]  # the format, and what writes its file


def bomb() -> bytes:
    """A PNG of a billion pixels in a hundred bytes."""
    head = struct.pack(">IIBBBBB", 40_000, 25_000, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))


class Runs:
    """Makes a folder when unpickled."""

    def __init__(self, mark: str):
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (self.mark,)


def table(folder: Path, **changed: Any) -> str:
    rows = [{**row, **changed} for row in mind2web_rows()]
    parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "x.parquet")
    return "x.parquet"


def written(folder: Path, value: Any, name: str = "x.json") -> str:
    (folder / name).write_text(value if isinstance(value, str) else json.dumps(value))
    return name


def control(folder: Path, **changed: Any) -> str:
    good = {"goal": ["x"], "screenshots": [png()], "actions": ['{"action_type": "click", "x": 1, "y": 1}']}
    tfrecord(folder / "x", [example(**{**good, **changed})])
    return "x"


def turns(said: str, **more: Any) -> list[dict[str, Any]]:
    asked = {"from": "human", "value": "the lamp"}
    return [{"image": "a.png", "conversations": [asked, {"from": "gpt", "value": said, **more}]}]


def odyssey(**changed: Any) -> dict[str, Any]:
    step = {"screenshot": "a.png", "action": "CLICK", "info": [[1, 2]], **changed}
    return {"task_info": {"instruction": "x"}, "steps": [step]}


def net(**changed: Any) -> dict[str, Any]:
    step = {"image": "a.png", "value": {"code": "pyautogui.click(x=0.5, y=0.5)"}, **changed}
    return {"instruction": "x", "traj": [step]}


CLICK = {"type": "before", "callId": "1", "method": "click", "params": {"selector": "a"}, "point": {"x": 1, "y": 2}}
FRAME = {"type": "screencast-frame", "sha1": "a.jpeg", "width": 200, "height": 100, "timestamp": 0}


def trace(folder: Path, events: str, members: dict[str, bytes]) -> str:
    with zipfile.ZipFile(folder / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("0-trace.trace", events)
        for name, content in {"../../outside.txt": b"x", "/outside.txt": b"x", **members}.items():
            archive.writestr(name, content)
    return "x.zip"


def damaged_zip(folder: Path) -> str:
    name = trace(folder, json.dumps(CLICK) + "\n" + json.dumps(FRAME), {"resources/a.jpeg": png()})
    content = bytearray((folder / name).read_bytes())
    content[60:90] = bytes(30)
    (folder / name).write_bytes(content)
    return name


def weblinx(folder: Path, replay: dict[str, Any]) -> str:
    """Boxes that are none, too."""
    pictures(folder, "demo/screenshots/a.png")
    for name, content in (("pages/page-1-0.html", "<a data-webtasks-id=u>"), ("bboxes/bboxes-1.json", '{"u": [1, 2]}')):
        (folder / "demo" / name).parent.mkdir()
        (folder / "demo" / name).write_text(content)
    asked = {"type": "chat", "speaker": "instructor", "utterance": "x"}
    turns = replay["data"]
    (folder / "demo" / "replay.json").write_text(
        json.dumps({"data": [asked, *turns] if turns else turns} if isinstance(turns, list) else replay)
    )
    return "demo"


def surfer(folder: Path, *lines: Any, **more: Any) -> str:
    """A run of Fara's with one screenshot."""
    pictures(folder, "run/screenshot0.png")
    said = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    (folder / "run" / "web_surfer.log").write_text(said)
    for name, value in more.items():
        (folder / "run" / f"{name}.json").write_text(value if isinstance(value, str) else json.dumps(value))
    return "run"


def acted(**arguments: Any) -> dict[str, Any]:
    return {"action": "computer_use", "arguments": arguments}


def genesis(said: str, asked: str = "Instruction: x", image: str = "a.png") -> list[dict[str, Any]]:
    turns = [{"from": "human", "value": asked}, {"from": "gpt", "value": said}]
    return [{"image": image, "conversations": turns}]


def fara_table(folder: Path, **changed: Any) -> str:
    row = {"task_id": "x", "instruction": "x", "init_url": "", "final_answer": "", "screenshots": [{"bytes": png()}]}
    row |= {"web_surfer_log": json.dumps(acted(action="wait")), **changed}
    parquet.write_table(pyarrow.Table.from_pylist([row]), folder / "x.parquet")
    return "x.parquet"


def cases() -> Iterator[Case]:
    atlas = {"img_filename": "a.png", "instruction": "x", "bbox": [0, 0, 1, 1]}
    for path in ("../secret.png", "/etc/passwd", "a.png/../../secret.png", "\0", "x" * 5000, "..\\secret.png"):
        yield "os_atlas", lambda folder, path=path: written(folder, [{**atlas, "img_filename": path}])
        yield "gui_odyssey", lambda folder, path=path: written(folder, odyssey(screenshot=path))
        yield "agentnet", lambda folder, path=path: written(folder, net(image=path))
    for box in (
        [1, 2, 3],
        "0,0,1,1",
        [0, 0, 1, None],
        [0, 0, float("nan"), 1],
        [0, 0, 10**400, 1],
        [True] * 4,
        None,
        {},
    ):
        yield "os_atlas", lambda folder, box=box: written(folder, [{**atlas, "bbox": box}])
    for image in ("bomb.png", "pickle.png", "text.png", "cut.png"):
        yield "os_atlas", lambda folder, image=image: written(folder, [{**atlas, "img_filename": image}])
        yield "aguvis", lambda folder, image=image: written(folder, [{**turns("wait()")[0], "image": image}])
    yield "os_atlas", lambda folder: written(folder, "[" * 100_000)
    yield "os_atlas", lambda folder: written(folder, [3])
    yield "os_atlas", lambda folder: written(folder, [{**atlas, "elements": "x"}])
    yield "os_atlas", lambda folder: written(folder, pickle.dumps(Runs(str(folder / "ran"))).decode("latin1"))
    yield "screenspot", lambda folder: written(folder, [{**atlas, "bbox": [0, 0, 1]}])
    yield "uground", lambda folder: written(folder, turns("(1, 2, 3, 4, 5)"))
    yield "uground", lambda folder: written(folder, turns("__import__('os').mkdir('ran')"))
    yield "uground", lambda folder: written(folder, [{**turns("(1, 2)")[0], "image": "http://x.example/a.png"}])
    yield "uground", lambda folder: written(folder, [{**turns("(1, 2)")[0], "image": "../secret.png"}])
    yield "aguvis", lambda folder: written(folder, turns("pyautogui.click(x='0.5', y=0.5)"))
    yield "aguvis", lambda folder: written(folder, turns("pyautogui.click(x=1e999, y=0.5)"))
    yield "aguvis", lambda folder: written(folder, turns("pyautogui.write(message=3)"))
    yield "aguvis", lambda folder: written(folder, turns("pyautogui.press('a', presses=10**9)"))
    yield "aguvis", lambda folder: written(folder, turns("pyautogui.click(x=.5, y=.5)", bbox_gt=[0, 0, "1", 1]))
    yield "aguvis", lambda folder: written(folder, [{"image": ["a.png", "a.png"], "conversations": turns("x")}])
    yield "gui_odyssey", lambda folder: written(folder, odyssey(info=[[1, 2, 3]]))
    yield "gui_odyssey", lambda folder: written(folder, odyssey(info={"x": 1}))
    yield "gui_odyssey", lambda folder: written(folder, {"steps": [], "task_info": 3})
    yield "agentnet", lambda folder: written(folder, net(value={"code": 3}))
    yield "agentnet", lambda folder: written(folder, {**net(), "task_completed": "yes"})
    yield "aitw", lambda folder: written(folder, {"general": [[{"goal": "x", "img_filename": "../secret"}]]})
    yield "aitw", lambda folder: written(folder, {"general": 3})
    yield (
        "aitw",
        lambda folder: written(folder, {"general": [[{"goal": "x", "img_filename": "a.png", "action_type_id": 4}]]}),
    )
    for said in (
        "action: {" * 50_000,
        "\naction: {" * 50_000,
        "```" * 50_000,
        "```click " + "[" * 4000 + "```",
        "\n" * 10**6,
    ):
        yield "os_genesis", lambda folder, said=said: written(folder, genesis(f"x{said}"))
    for said in ("[" * 100_000, "action: " + '{"a":' * 50_000, 'action: {"action_type": "click"}', "action: {}"):
        yield "os_genesis", lambda folder, said=said: written(folder, genesis(f"action: {{{said}}}"))
    yield "os_genesis", lambda folder: written(folder, genesis('action: {"action_type": "click", "x": 1e999, "y": 1}'))
    yield "os_genesis", lambda folder: written(folder, genesis('action: {"action_type": "status", "goal_status": 3}'))
    yield "os_genesis", lambda folder: written(folder, genesis("x", image="../secret.png"))
    yield "os_genesis", lambda folder: written(folder, genesis("x", asked="no word of it"))
    yield "os_genesis", lambda folder: written(folder, [{"image": "a.png", "conversations": [3]}])
    for call in ("click [x]", "click", "type [2]", f"click [{'9' * 5000}]", "scroll [in]", "tab_focus [x]", "press []"):
        yield "os_genesis_web", lambda folder, call=call: written(folder, genesis(f"```{call}```"))
    yield "os_genesis_web", lambda folder: written(folder, genesis("```__import__('os').mkdir('ran')```"))
    for lines, more in (
        ((), {}),
        (("{",), {}),
        ((acted(action="wait"), acted(action="wait")), {}),  # and one screenshot
        (({"action": "x", "arguments": 3},), {}),
        ((acted(action="left_click"),), {}),
        ((acted(action="left_click", coordinate=[1]),), {}),
        ((acted(action="left_click", coordinate="12"),), {}),
        ((acted(action="left_click", coordinate=[True, None]),), {}),
        ((acted(action="scroll", pixels=float("inf")),), {}),
        ((acted(action="type", text=3),), {}),
        ((acted(action="key", keys=3),), {}),
        ((acted(action="visit_url", url=["x"]),), {}),
        ((acted(action="wait"),), {"task_data": "["}),
        ((acted(action="wait"),), {"task_data": [1, 2]}),
        ((acted(action="wait"),), {"x_final_answer": pickle.dumps(Runs("ran"), 0).decode()}),
    ):
        yield "fara", lambda folder, lines=lines, more=more: surfer(folder, *lines, **more)
    yield "fara", lambda folder: written(folder, "x", "web_surfer.log")
    for changed in (
        {"screenshots": [{"bytes": bomb()}]},
        {"screenshots": [{"bytes": pickle.dumps(Runs("ran"))}]},
        {"screenshots": []},
        {"screenshots": ["../secret.png"]},
        {"screenshots": ["http://x.example/a.png"]},
        {"web_surfer_log": None},
        {"web_surfer_log": "{"},
        {"instruction": None, "task_id": None},
    ):
        yield "fara", lambda folder, changed=changed: fara_table(folder, **changed)
    yield "fara", lambda folder: table(folder)
    yield "screenspot", lambda folder: written(folder, [{**atlas, "bbox": [0, 0, 5, 5], "img_filename": None}])
    yield "screenspot", lambda folder: written(folder, [{**atlas, "image": "../secret.png"}])
    yield "screenspot", lambda folder: written(folder, [{**atlas, "image": {"bytes": "x"}, "ui_type": 3}])
    for name, value in (
        ("screenshot", "not bytes"),
        ("screenshot", {"bytes": bomb(), "path": None}),
        ("screenshot", {"bytes": pickle.dumps(Runs("ran")), "path": None}),
        ("screenshot", {"bytes": None, "path": "../secret.png"}),
        ("pos_candidates", [1, 2]),
        ("pos_candidates", ["{"]),
        ("pos_candidates", [json.dumps({"attributes": '{"bounding_box_rect": "a,b,c,d"}'})]),
        ("neg_candidates", [json.dumps({"attributes": '{"bounding_box_rect": "1,2,inf,nan"}'})]),
        ("operation", "[" * 100_000),
        ("operation", 3.5),
        ("operation", json.dumps({"op": "TYPE", "value": [1]})),
        ("target_action_index", "9" * 30),
        ("target_action_index", "-1"),
        ("confirmed_task", 3),
        ("action_reprs", 5),
        ("pos_candidates", 5),
        ("neg_candidates", 5),
    ):
        yield "multimodal_mind2web", lambda folder, name=name, value=value: table(folder, **{name: value})
    for events, members in (
        ("{", {}),
        ('{"type": "before", "method": "click"}', {}),
        (json.dumps(CLICK) + "\n" + json.dumps(FRAME), {}),
        (json.dumps(CLICK) + "\n" + json.dumps(FRAME), {"resources/a.jpeg": bomb()}),
        (json.dumps(CLICK) + "\n" + json.dumps(FRAME), {"resources/a.jpeg": pickle.dumps(Runs("ran"))}),
        (json.dumps(CLICK) + "\n" + json.dumps({**FRAME, "sha1": "../../secret.png"}), {"resources/a.jpeg": png()}),
        (json.dumps(CLICK) + "\n" + json.dumps({**FRAME, "width": "x"}), {"resources/a.jpeg": png()}),
        (json.dumps({**CLICK, "point": {"x": "1", "y": 2}}) + "\n" + json.dumps(FRAME), {"resources/a.jpeg": png()}),
        (json.dumps(CLICK) + "\n" + json.dumps(FRAME), {"resources/a.jpeg": bytes(2**28)}),
        ("\n" * 2**28, {}),
    ):
        yield "playwright_trace", lambda folder, events=events, members=members: trace(folder, events, members)
    yield "playwright_trace", lambda folder: written(folder, "PK\3\4", "x.zip")
    yield "playwright_trace", lambda folder: damaged_zip(folder)
    for changed in (
        {"data": 3},
        {"data": []},
        {"data": [{"type": "browser", "state": {"screenshot": "../../secret.png"}}]},
        {"data": [{"type": "browser", "state": {"screenshot": "/etc/passwd"}}]},
        {"data": [{"type": "browser", "state": {"screenshot": "a.png", "page": "../../secret.png"}}]},
        {"data": [{"type": "browser", "state": {"screenshot": "a.png"}, "action": {"intent": "click"}}]},
        {"data": [{"type": "browser", "state": {"screenshot": "a.png", "page": "page-1-0.html"}}]},
    ):
        yield "weblinx", lambda folder, changed=changed: weblinx(folder, changed)
    yield "multimodal_mind2web", lambda folder: written(folder, "PAR1" * 9, "x.parquet")
    yield "multimodal_mind2web", lambda folder: written(folder, pickle.dumps([1], 0).decode(), "x.parquet")
    yield "uground", lambda folder: written(folder, "PAR1", "x.parquet")
    yield "android_control", lambda folder: control(folder, screenshots=[bomb()])
    yield "android_control", lambda folder: control(folder, screenshots=[pickle.dumps(Runs("ran"))])
    yield "android_control", lambda folder: control(folder, screenshots=[])
    yield "android_control", lambda folder: control(folder, goal=[b"\xff\xff"])
    yield "android_control", lambda folder: control(folder, actions=["{"])
    yield "android_control", lambda folder: control(folder, actions=['{"action_type": "click", "x": "1", "y": 1}'])
    yield "android_control", lambda folder: control(folder, actions=['{"action_type": "scroll", "direction": "in"}'])
    yield "android_control", lambda folder: control(folder, accessibility_trees=[b"\xff\xff\xff"])
    for name, content in (
        ("cut", gzip.compress(struct.pack("<Q", 100) + bytes(40))),
        ("huge", gzip.compress(struct.pack("<Q", 2**60) + bytes(40))),
        ("zeros", gzip.compress(bytes(2**20))),
        ("half a gzip", gzip.compress(os.urandom(3000))[:2000]),
        ("no gzip", b"hello"),
        ("no message", struct.pack("<QI", 4, 0) + b"\xff\xff\xff\xff" + bytes(4)),
    ):
        del name

        def put(folder: Path, content: bytes = content) -> str:
            (folder / "x").write_bytes(content)
            return "x"

        yield "android_control", put
        yield "aitw", put


@pytest.mark.parametrize(("name", "write"), list(cases()))
def test_one_line(name: str, write: Callable[[Path], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    monkeypatch.chdir(folder)
    pictures(folder, "a.png")
    (tmp_path / "secret.png").write_bytes(png())
    (folder / "bomb.png").write_bytes(bomb())
    (folder / "pickle.png").write_bytes(pickle.dumps(Runs("ran")))
    (folder / "text.png").write_text("hello")
    (folder / "cut.png").write_bytes(png()[:20])
    file = write(folder)
    there = sorted(tmp_path.rglob("*"))
    with pytest.raises(UserError, match=r"^[^\n]+$") as refused:
        import_data.main(
            import_data.Config(name, (str(folder / file),), str(folder), result_dir=str(tmp_path / "results"))
        )
    assert str(folder) in str(refused.value) and len(str(refused.value)) < 2000
    assert sorted(tmp_path.rglob("*")) == there  # nothing ran, nothing was written


def test_code_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    """It is told by kind, and the rest of the set is read."""
    monkeypatch.chdir(tmp_path)
    codes = (
        "__import__('os').mkdir('ran')",
        "exec('1')",
        "pyautogui.click(x=__import__('os').mkdir('ran'), y=0.5)",
        "pyautogui.write(message=open('ran', 'w').name)",
        "[pyautogui.click(x=0.5, y=0.5) for _ in iter(int, 1)]",
        "while True: pass",
        "pyautogui.click(x=9**9**9, y=0.5)",
        "pyautogui.click(" + "(" * 9000,
        "x" * 30_000,
        "\0",
        "pyautogui.click(x=0.5, y=0.5)",
    )
    pictures(tmp_path, *(f"{number}.png" for number in range(len(codes))))
    steps = [{"image": f"{number}.png", "value": {"code": code}} for number, code in enumerate(codes)]
    (tmp_path / "x.jsonl").write_text(json.dumps({"instruction": "x", "traj": steps}))
    results = tmp_path / "results"
    import_data.main(
        import_data.Config("agentnet", (str(tmp_path / "x.jsonl"),), str(tmp_path), result_dir=str(results))
    )
    told = capsys.readouterr().err
    assert "steps of code that is no plain call (9), steps of exec (1)" in told and told.count("\n") == 1
    assert not (tmp_path / "ran").exists() and len(list(results.iterdir())) == 1


def test_thousands_of_kinds_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    pictures(tmp_path, "a.png")
    steps = [{"image": "a.png", "value": {"code": f"function_{number}()"}} for number in range(500)]
    steps.append({"image": "a.png", "value": {"code": "pyautogui.click(x=0.5, y=0.5)"}})
    (tmp_path / "x.jsonl").write_text(json.dumps({"instruction": "x", "traj": steps}))
    results = str(tmp_path / "results")
    import_data.main(import_data.Config("agentnet", (str(tmp_path / "x.jsonl"),), str(tmp_path), result_dir=results))
    told = capsys.readouterr().err
    assert "steps of other kinds (470)" in told and told.count("\n") == 1 and len(told) < 2000


def test_every_set_is_tried() -> None:
    assert {name for name, _ in cases()} == set(RESEARCH)

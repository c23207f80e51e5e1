"""What agents leave behind, made by somebody who means harm: one line each, nothing run, nothing written elsewhere."""

import base64
import gzip
import json
import os
import pickle
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from common.errors import UserError
from data.trajectory import list_trajectories, read_trajectory
from tests.adversary.refusals import limits
from tests.adversary.specimens.interchange import INTERCHANGE
from tests.toolkits.foreign_folders import FOREIGN
from tests.toolkits.foreign_folders import FORMATS as CALLED
from tests.toolkits.readers.test_hostile_research_sets import Runs, bomb
from tests.toolkits.research import RESEARCH
from tests.toolkits.trajectories import screenshot
from toolkits import import_data
from toolkits.readers.formats import FORMATS

Harm = Callable[[Path], None]
DEEP = "[" * 100_000
IMAGES = {"a bomb": bomb(), "a pickle": pickle.dumps(Runs("ran")), "a text": b"hello", "half": screenshot(1)[:20]}


def edited(name: str, change: Callable[[Any], Any]) -> Harm:
    """A JSON file with something changed."""

    def harm(folder: Path) -> None:
        path = folder / name
        path.write_text(json.dumps(change(json.loads(path.read_text()))))

    return harm


def text(name: str, content: str | bytes) -> Harm:
    return lambda folder: (
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode()) and None
    )


def torch_file(**changed: Any) -> Harm:
    def harm(folder: Path) -> None:
        step = {"observation": "Goal: x</s>", "action": "a", "image_path": "0.png"}
        torch.save([[{**step, "reward": 0.0, "done": True, **changed}]], folder / "episodes.pt")

    return harm


def of_page(image: bytes, said: str = "") -> Harm:
    """WebArena's page with this screenshot."""

    def harm(folder: Path) -> None:
        path = folder / "render_7.html"
        head, _, rest = path.read_text().partition("base64,")
        shown = base64.b64encode(image).decode() if image else said
        path.write_text(f"{head}base64,{shown}{rest[rest.index(chr(39)) :]}")

    return harm


def state(**changed: Any) -> Harm:
    def change(read: Any) -> Any:
        read["history"][1]["state"] |= {"screenshot": "", **changed}
        return read

    return edited("history.json", change)


def item(**changed: Any) -> Harm:
    """A second call, or its output, of OpenAI's log."""

    def harm(folder: Path) -> None:
        lines = [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()]
        lines[5 if "output" in changed else 4] |= changed
        (folder / "run.jsonl").write_text("\n".join(map(json.dumps, lines)))

    return harm


def linked(folder: Path) -> None:
    shot = folder / "abc" / "trajectory" / "0_full_screenshot.jpg"
    shot.unlink()
    shot.symlink_to(folder.parent / "secret.png")
    (folder / "abc" / "trajectory" / "1_full_screenshot.jpg").unlink()


def cases() -> Iterator[tuple[str, Harm]]:
    for path in ("../secret.png", "/etc/passwd", "..\\secret.png", "\0", "x" * 5000):
        yield "browser_use", state(screenshot_path=path)
        yield "digirl", torch_file(image_path=path)
    for content in IMAGES.values():
        yield "visualwebarena", of_page(content)
        yield "browser_use", state(screenshot=base64.b64encode(content).decode())
        yield "online_mind2web", text("abc/trajectory/0_full_screenshot.jpg", content)
        yield "agentlab", text("screenshot_step_0.png", content)
        url = f"data:image/png;base64,{base64.b64encode(content).decode()}"
        yield "openai_cua", item(output={"type": "computer_screenshot", "image_url": url})
    yield "visualwebarena", of_page(b"", "no base64 at all")
    yield "visualwebarena", text("render_7.html", "<div>" * 10_000)
    yield "visualwebarena", text("render_7.html", b"\xff\xfe\xff")
    yield "browser_use", state(screenshot="no base64 at all")
    yield "online_mind2web", linked
    yield "agentlab", text("step_0.pkl.gz", gzip.compress(pickle.dumps(Runs("ran"))))
    yield "agentlab", text("step_0.pkl.gz", gzip.compress(bytes(2**27)))
    yield "agentlab", text("step_0.pkl.gz", gzip.compress(os.urandom(3000))[:2000])
    yield "agentlab", text("summary_info.json", '{"cum_reward": "much"}')
    for url in ("file:///etc/passwd", "http://x.example/a.png", 3):
        yield "openai_cua", item(output={"type": "computer_screenshot", "image_url": url})
    for action in (
        {"type": "click", "x": [], "y": 1},
        {"type": "drag", "path": []},
        {"type": "scroll", "x": 1, "y": 1},
        {"type": "keypress", "keys": 3},
    ):
        yield "openai_cua", item(action=action)
    yield "webrl", text("traces/21.jsonl", '{"target": 3}')
    yield "webrl", text("actions/21.json", '{"score": "1"}')
    yield "mind2web", edited("train_0.json", lambda read: [{**read[0], "action_reprs": ["x"]}])
    yield "mind2web", edited("train_0.json", lambda read: [{**read[0], "actions": [1, 2]}])
    for name, file in (
        ("browser_use", "history.json"),
        ("online_mind2web", "abc/result.json"),
        ("openai_cua", "run.jsonl"),
        ("agentlab", "summary_info.json"),
        ("webrl", "traces/21.jsonl"),
        ("webrl", "actions/21.json"),
        ("mind2web", "train_0.json"),
    ):
        yield name, text(file, DEEP)
        yield name, text(file, b"\xff\xff\x00")


def imported(name: str, folder: Path, given: list[str]) -> None:
    results = str(folder.parent / "results")
    files = tuple(str(folder / file) for file in given)
    import_data.main(import_data.Config(CALLED.get(name, name), files, str(folder), result_dir=results))


@pytest.mark.parametrize(("name", "harm"), list(cases()))
def test_one_line(name: str, harm: Harm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (tmp_path / "secret.png").write_bytes(screenshot(1))
    given = FOREIGN[name](folder)
    harm(folder)
    there = sorted(tmp_path.rglob("*"))
    with limits(), pytest.raises(UserError, match=r"^[^\n]+$") as refused:
        imported(name, folder, given)
    assert str(folder) in str(refused.value) and len(str(refused.value)) < 2000
    assert sorted(tmp_path.rglob("*")) == there  # nothing ran, nothing was written


PAGE = """<!DOCTYPE html><html><body><pre>task_id: 7
intent: Find it.
start_url: http://shop.example/
eval: __import__('os').mkdir('ran')
</pre>
<script src='http://shop.example/x.js'></script><script>document.write("<div class='url'>")</script>
<h3 class='url' onclick='x()'>URL: javascript:x()</h3><div class='state_obv'><pre>[7] <script>x()</script></pre>
<img src='file:///etc/passwd' onerror='x()'><iframe src='http://shop.example/'></iframe></div>
<div class='raw_parsed_prediction'><pre>click [7]</pre></div></body></html>"""


def test_a_page_with_scripts_is_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it is run or fetched: code stays text, and a picture that is no data is none."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "render_7.html").write_text(PAGE)
    imported("visualwebarena", tmp_path / "logs", ["render_7.html"])
    [folder] = list_trajectories(tmp_path / "results")
    [step] = read_trajectory(folder).steps
    assert (step.url, step.reply) == ("javascript:x()", "click [7]")
    assert b"root:" not in b"".join(path.read_bytes() for path in folder.iterdir())
    assert {path.name for path in tmp_path.iterdir()} == {"logs", "results"}
    shutil.rmtree(folder)


def test_every_format_is_tried() -> None:
    """Here, among damaged files (`specimens.py`), or in tests of its own."""
    damaged = {name.removesuffix(", exported") for name in INTERCHANGE}
    others = {"openwebvoyager_tar", "llava", "webrl", "devtools_recorder"}
    here = {CALLED.get(name, name) for name in FOREIGN}
    assert set(FORMATS) <= damaged | others | here | set(RESEARCH)

"""How long a person waits for the viewer over many trajectories, and what it holds in memory.

    python -m benchmarks.viewer --output viewer.json
    python -m benchmarks.viewer --wall_seconds 30 --output wall.json     # benchmarks/viewer_wall.py

Trajectories are synthetic: as many tokens, characters and seconds as the quickstart's have, four steps each, each with
a value and an advantage, without screenshots. The viewer is started twice over them in a process of its own, asked by a
real Chromium:

    cold    nothing of the folder is in the index: the table shows what is known so far; `index_s` until all is read
    warm    started again

`first_page_s` is from asking for the table's address to its first 100 rows, `filter_ms` from choosing an outcome to the
rows being drawn, `search_ms` from typing a word, `memory_mb` the server's peak. The baseline is a viewer that reads
everything at the start: `index_s`, of which `times_first_page` says how many first pages it takes.
"""

import asyncio
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import pyarrow
from pyarrow import parquet

from benchmarks.figures import Figure, plain, watched
from benchmarks.viewer_wall import cost_of_the_wall
from common import cli
from common.files import write_json
from common.options.limits import Checked, at_least, between
from data.samples.turn_samples import sample_head
from environments.browser.fleet import Fleet
from environments.browser.page.page import Page, Viewport

_OUTCOMES = ("success", "failure", "failure", "blocked", "invalid")
_WORDS = "open the board and tell who wrote the review of a garden lamp in the shop near the station".split()
_CHOOSE = """(async () => {{
  const began = performance.now(), choice = document.getElementById("filter-outcome");
  choice.value = {value};
  choice.dispatchEvent(new Event("change"));
  await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
  return performance.now() - began;
}})()"""
_SEARCH = """(async () => {{
  const began = performance.now(), words = document.getElementById("search");
  const said = document.querySelector("[role=status]"), before = said.textContent;
  words.value = {value};
  words.dispatchEvent(new Event("input"));
  while (said.textContent === before) await new Promise((later) => setTimeout(later, 1));
  return performance.now() - began;
}})()"""


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Measure the viewer."""

    num_trajectories: Annotated[int, at_least(10)] = 20_000
    """How many there are."""
    repeats: Annotated[int, between(1, 5)] = 5
    """Of each figure of the warm start."""
    wall_seconds: Annotated[float, at_least(0)] = 0.0
    """Measure what the wall of live sessions costs a collector instead, in turns of so many seconds."""
    output: Path = Path("viewer.json")
    """A JSON file for the numbers."""


def main(config: Config) -> None:
    """Measure, print, write."""
    with watched(config.repeats) as load:
        rows = cost_of_the_wall(config.wall_seconds, config.repeats) if config.wall_seconds else _table(config)
    for row in rows:
        print(", ".join(f"{name} {value}" for name, value in row.items()))
    print(load)
    asked = {name: value for name, value in vars(config).items() if name != "output"}
    write_json(config.output, {**asked, "load": dataclasses.asdict(load), "rows": plain(rows)})


def _table(config: Config) -> list[dict[str, Any]]:
    """Of the table of trajectories."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "many" / "IL" / "trajectories"
        for number in range(config.num_trajectories):
            _write(results, number)
        _write_columns(results.parent / "columns", config.num_trajectories)
        cold = _measured(Path(folder), 1)
        warm = _measured(Path(folder), config.repeats)
    times = Figure.times([cold["index_s"].median] * config.repeats, [warm["first_page_s"].median] * config.repeats)
    return [{"start": "cold", **cold}, {"start": "warm", **warm, "times_first_page": times}]


def _measured(folder: Path, repeats: int) -> dict[str, Figure]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    command = [sys.executable, "-m", "viewer", str(folder / "many"), "--port", "0"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            url = process.stdout.readline().split()[2]
            figures = asyncio.run(_look(url, repeats))
            status = Path(f"/proc/{process.pid}/status").read_text()
            peak_kb = int(status.partition("VmHWM:")[2].split()[0])
            return {**figures, "memory_mb": Figure.of([peak_kb / 1024])}
        finally:
            process.terminate()


async def _look(url: str, repeats: int) -> dict[str, Figure]:
    began = time.monotonic()
    async with Fleet(num_sessions=1, headless=True, viewport=Viewport()) as fleet:
        with tempfile.TemporaryDirectory() as downloads:
            async with fleet.page(0, Path(downloads)) as page:
                first = [await _first_page(page, url) for _ in range(repeats)]
                index_s = await _until_read(url, began)
                await _first_page(page, url)
                chosen = await _repeated(repeats, lambda at: _run(page, _CHOOSE, _OUTCOMES[at % 2]))
                await _run(page, _CHOOSE, "")
                found = await _repeated(repeats, lambda at: _run(page, _SEARCH, f"number {'9' * (at + 1)}:"))
    figures = {"first_page_s": first, "filter_ms": chosen, "search_ms": found, "index_s": [index_s]}
    return {name: Figure.of(values) for name, values in figures.items()}


async def _repeated(repeats: int, measure: Callable[[int], Awaitable[float]]) -> list[float]:
    return [await measure(at) for at in range(repeats)]


async def _first_page(page: Page, url: str) -> float:
    await page.send("Page.navigate", {"url": "about:blank"})
    began = time.monotonic()
    await page.send("Page.navigate", {"url": f"{url}#/rows/many"})
    while not await _run(page, "document.querySelectorAll('tbody tr').length >= Math.min(10, {value})", 10):
        await asyncio.sleep(0.005)
    return time.monotonic() - began


async def _run(page: Page, script: str, value: Any) -> Any:
    """In the page's own world, where its events are."""
    asked = {"expression": script.format(value=json.dumps(value)), "returnByValue": True, "awaitPromise": True}
    return (await page.send("Runtime.evaluate", asked))["result"].get("value")


async def _until_read(url: str, began: float) -> float:
    """Seconds until the index holds everything."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    await asyncio.to_thread(opener.open, url)  # with its token
    while True:
        with await asyncio.to_thread(opener.open, f"{url.partition('?')[0]}answer/state") as answer:
            state = json.load(answer)
        if state["num_unread"] == 0:
            return time.monotonic() - began
        await asyncio.sleep(0.2)


def _write_columns(folder: Path, count: int) -> None:
    folder.mkdir(parents=True)
    heads = [sample_head(f"Shop-{number % 40}--{number:05d}", None) for number in range(count)]
    ids = [f"{head}--r01--step{step:02d}" for head in heads for step in range(1, 5)]
    for name in ("value", "advantage"):
        numbers = [place % 97 / 97 for place in range(len(ids))]
        parquet.write_table(pyarrow.table({"id": ids, name: numbers}), folder / f"{name}s.parquet")


def _write(results: Path, number: int) -> None:
    """A trajectory's folder, written plainly: the collector's own writer waits for the disk."""
    folder = results / f"taskShop-{number % 40}--{number:05d}"
    folder.mkdir(parents=True)
    words = " ".join(_WORDS[(number * place) % len(_WORDS)] for place in range(30))
    task = {
        "id": folder.name.removeprefix("task"),
        "ques": f"Task number {number}: {words}",
        "web": "http://shop.localhost:7070/",
    }
    task["web_name"] = f"Site {number % 12}"
    provenance = {"policy": "http://127.0.0.1:8080/predict", "viewport": [1024, 768], "seed": number}
    outcome = {"verdict": _OUTCOMES[number % 5], "reason": "the agent did not answer", "judge": "oracle"}
    summary = {"task": task, "run": None, "status": "finished", "num_steps": 4, "provenance": provenance}
    steps = [
        {
            "number": step,
            "url": "http://shop.localhost:7070/",
            "reply": f"Thought: {words}\n\nAction: Click [{step}]",
            "weights_version": f"step-{number % 6}",
            "token_ids": list(range(60)),
            "logprobs": [-0.0123 * (place % 7) for place in range(60)],
            "timings_s": {"observe_s": 0.04, "policy_s": 0.35, "act_s": 0.8},
        }
        for step in range(1, 5)
    ]
    (folder / "steps.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps))
    (folder / "outcome.json").write_text(json.dumps(outcome))
    (folder / "trajectory.json").write_text(json.dumps(summary))


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)

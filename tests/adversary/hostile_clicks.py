"""Actions on the pages of `hostile_pages.py`: a hit of what was not chosen is wrong.

python -m tests.adversary.hostile_clicks --minutes 15      # any number of pages; --seed begins elsewhere
"""

import argparse
import asyncio
import contextlib
import functools
import random
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from unittest import mock

from data.actions.action import ActionError, Click, Drag, Type
from data.actions.point_action import ClickAt, Write
from data.actions.screen import Point
from environments.browser.acting import actions, at_points, fill
from environments.browser.fleet import Fleet
from environments.browser.observation.observe import observe
from environments.browser.page import settle
from environments.browser.page.page import Page, Viewport
from environments.environment import Observation
from environments.faults import BrowserError, PageError
from tests.adversary.hostile_pages import Drawing
from tests.environments import website

ACTIONS_PER_PAGE = 4
QUIET_S = 0.03


class Handler(BaseHTTPRequestHandler):
    """The document with the seed that its address names."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        seed = self.path.strip("/").split("?")[0]
        page = Drawing(seed, seed.count(".")).page().replace("PORT", str(self.server.server_address[1])).encode()
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("content-length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@dataclass
class Tally:
    """What was tried, and what went wrong: (seed, action, what reached what)."""

    pages: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[str, str, str]] = field(default_factory=list)


async def attack(url: str, seed: int, page: Page, tally: Tally) -> None:
    """Some actions on the page with this seed."""
    draw = random.Random(seed)
    await page.goto(f"{url}/{seed}")
    await settle.settle(page, QUIET_S, 1.0)
    tally.pages += 1
    for _ in range(ACTIONS_PER_PAGE):
        seen = await observe(page, "released")
        if not (choices := _choices(seen)):
            return
        label, name = draw.choice(choices)
        action, expected = _action(draw, seen, label, name, choices)
        before = await _ledgers(page)
        said, outcome = "", "done"
        try:
            said = await actions.act(page, action, seen, url)
        except ActionError as error:
            said, outcome = error.reason, "refused"
        if isinstance(action, ClickAt | Write):
            expected = _told(said)
        tally.outcomes[f"{type(action).__name__} {outcome}"] += 1
        for entry in _new(before, await _ledgers(page)):
            if not _is_told(expected, entry[1]) if isinstance(action, ClickAt | Write) else entry[1] not in expected:
                tally.wrong.append((str(seed), f"{action} on {name}, said {said!r}", str(entry)))


def _choices(seen: Observation) -> list[tuple[int, str]]:
    """Labels, and the name of the control that each stands for."""
    found, row = [], ""
    for label, node in seen.nodes.items():
        name = node["name"]["value"].strip().split(" ")[0]
        if name == "Add" and row:
            found.append((label, f"add-{row}"))
            row = ""
        elif name[1:].isdigit() and name[0] == "c":
            found.append((label, name))
            row = name if node["role"]["value"] == "StaticText" else ""
    return found


def _action(
    draw: random.Random, seen: Observation, label: int, name: str, choices: list[tuple[int, str]]
) -> tuple[Any, Any]:
    left, top, width, height = seen.nodes[label]["union_bound"]
    at = Point(min(1023, max(0, left + width / 2)), min(767, max(0, top + height / 2)))
    match draw.randrange(10):
        case 0 | 1 | 2 | 3:
            return Click(label), {name}
        case 4 | 5 | 6:
            return Type(label, "two"), {name}
        case 7:
            target, other = draw.choice(choices)
            return Drag(label, target), {name, other}
        case 8:
            return ClickAt(at), None
    return Write("two", at), None


def _told(said: str) -> set[str]:
    """What the feedback says was clicked, by tag and name."""
    words = {word.strip('".,') for word in said.replace("<", " <").split()}
    return words


def _is_told(words: set[str], name: str) -> bool:
    return name.lower() in words or (name.startswith("add-") and "Add" in words)


async def _ledgers(page: Page) -> dict[str, list[Any]]:
    read = "() => JSON.parse(document.documentElement.getAttribute('ledger') ?? '[]')"
    found = {}
    for frame in page.frames:
        with contextlib.suppress(Exception):
            found[frame.id] = await page.run(read, frame=frame, timeout_s=5)
    return found


def _new(before: dict[str, list[Any]], after: dict[str, list[Any]]) -> list[list[str]]:
    return [entry for frame, entries in after.items() for entry in entries[len(before.get(frame, [])) :]]


async def run(seeds: Any, seconds: float) -> Tally:
    """Attack with these seeds until the time is up."""
    tally, server = Tally(), website.start(handler=Handler)
    url, deadline = f"http://127.0.0.1:{server.server_address[1]}", time.monotonic() + seconds
    quick = functools.partial(settle.settle, quiet_s=QUIET_S, cap_s=0.5)

    async def settle_quickly(page: Page, *_: Any) -> None:
        await quick(page)

    try:
        with contextlib.ExitStack() as stack:
            for module in (actions, at_points, fill):
                stack.enter_context(mock.patch.object(module, "settle", settle_quickly))
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            async with Fleet(1, True, Viewport()) as fleet:
                while time.monotonic() < deadline:
                    async with fleet.page(0, folder) as page:
                        for seed in (next(seeds) for _ in range(20)):
                            try:
                                await attack(url, seed, page, tally)
                            except (BrowserError, PageError) as error:
                                tally.outcomes[f"browser: {error}"] += 1
                                break
                            if time.monotonic() > deadline:
                                break
    finally:
        website.stop(server)
    return tally


def main() -> None:
    import itertools

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    tally = asyncio.run(run(itertools.count(given.seed), given.minutes * 60))
    print(f"{tally.pages} pages, {sum(tally.outcomes.values())} actions, {len(tally.wrong)} wrong hits")
    for outcome, number in tally.outcomes.most_common():
        print(f"{number:6} {outcome}")
    for seed, action, entry in tally.wrong:
        print(f"seed {seed}: {action}: {entry}")


if __name__ == "__main__":
    main()

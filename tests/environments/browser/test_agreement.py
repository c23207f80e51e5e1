"""Tree, marks and what a press reaches agree, on pages drawn by seed (`random_pages.py`).

`ELCANO_PAGES=100-200 pytest -m slow tests/environments/browser/test_agreement.py` looks at some of the 2,000."""

import asyncio
import contextlib
import os
from collections.abc import Iterable, Iterator

import pytest

from data.observation import Mode
from environments.browser.chromium.cdp import RefusedError
from environments.browser.observation.observe import observe
from environments.browser.page.page import Page
from tests.answering import Request, answering
from tests.environments.conftest import OneBrowser
from tests.environments.random_pages import Drawn

STEP = 6  # pixels between the points that are tried
CHECKED = 97  # one point of so many is asked for in both ways
SIZABLE = 4  # points of those
SQUARE = 4  # pixels, of which a control shows as many in both ways
_NAMES = """function () {
  for (let node = this; node; node = node.parentNode ?? node.host) if (node.dataset?.n) return node.dataset.n;
  return "";
}"""
_HITS = """(points, ask) => points.map(([x, y]) => {
  let found = document.elementFromPoint(x, y);
  while (found?.shadowRoot) {
    const inner = found.shadowRoot.elementFromPoint(x, y);
    if (!found.shadowRoot.contains(inner)) break;
    found = inner;
  }
  if (found === null) return "";
  if (found.tagName === "IFRAME" || (elcano.rootOf(found) && !found.shadowRoot)) return ask;
  for (let node = found; node; node = node.parentNode ?? node.host) if (node.dataset?.n) return node.dataset.n;
  return "";
})"""
_HAS_THE_MOUSE = "function () { return (this instanceof Element ? this : this.parentElement).matches(':hover'); }"
_ASK = "?"
_LOADED = (
    "() => document.readyState === 'complete' || new Promise((done) => addEventListener('load', () => done(true)))"
)


@pytest.fixture(scope="module")
def drawn() -> Iterator[str]:
    def page(request: Request) -> tuple[int, bytes]:
        number = request.path[1:]
        return 200, (Drawn(int(number)).html if number.isdecimal() else "").encode()

    with answering(page) as url:
        yield url


class Reached:
    """Which control a press reaches, by points of the window: the browser's own hit test.

    The document answers for thousands of points at once; for frames and closed roots the browser is asked one by one.
    """

    def __init__(self, page: Page):
        self._page, self._names = page, dict[tuple[str, int], str]()

    async def at(self, points: list[tuple[int, int]]) -> list[str]:
        """Their names; "" where there is none."""
        names = await self._page.run(_HITS, points, _ASK)
        rest = [index for index, name in enumerate(names) if name == _ASK]
        for index, name in zip(rest, await self.one_by_one([points[index] for index in rest]), strict=True):
            names[index] = name
        return names

    async def one_by_one(self, points: list[tuple[int, int]]) -> list[str]:
        found = await asyncio.gather(*(self._node(*point) for point in points))
        new = [node for node in dict.fromkeys(found) if node is not None and node not in self._names]
        names = await asyncio.gather(*(self._name(*node) for node in new))
        self._names.update(zip(new, names, strict=True))
        return [self._names[node] if node else "" for node in found]

    async def is_sizable(self, name: str, points: list[tuple[int, int]]) -> bool:
        """Whether the mouse is over a control in a square of pixels around one of the points: of a strip that is
        flatter Chromium shows two or four rows in a frame, as it rounds; and of a frame with a border the protocol
        finds what is scrolled away under that."""
        reach = range(1 - SQUARE, SQUARE)
        around = [(x + right, y + down) for x, y in points for right in reach for down in reach]
        there = {at for at, found in zip(around, await self.at(around), strict=True) if found == name}
        for x, y in around:
            square = [(x + right, y + down) for right in range(SQUARE) for down in range(SQUARE)]
            if there.issuperset(square):
                return await self._by_mouse(square)
        return False

    async def _by_mouse(self, points: list[tuple[int, int]]) -> bool:
        """Whether at each of these points the mouse is over what the protocol says is there."""
        for x, y in points:
            node = await self._node(x, y)
            await self._page.send("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})
            on = {"backendDOMNodeId": node[1], "frameId": node[0]} if node else None
            if on is None or not await self._page.run_on(on, _HAS_THE_MOUSE):
                return False
        return True

    async def _node(self, x: int, y: int) -> tuple[str, int] | None:
        with contextlib.suppress(RefusedError):  # there is nothing at this point
            answer = await self._page.send("DOM.getNodeForLocation", {"x": x, "y": y})
            return answer["frameId"], answer["backendNodeId"]
        return None

    async def _name(self, frame_id: str, backend_id: int) -> str:
        return await self._page.run_on({"backendDOMNodeId": backend_id, "frameId": frame_id}, _NAMES)


async def disagreements(page: Page) -> list[str]:
    """A sentence for each control that is numbered where it is not, or not numbered where it is."""
    modes: tuple[Mode, ...] = ("tree", "marks")
    observed = {mode: await observe(page, "released", mode) for mode in modes}  # closed roots are known by then
    reached = Reached(page)
    grid = [(x, y) for y in range(2, page.viewport.height, STEP) for x in range(2, page.viewport.width, STEP)]
    hits: dict[str, list[tuple[int, int]]] = {}
    names = await reached.at(grid)
    singly = zip(grid[::CHECKED], names[::CHECKED], await reached.one_by_one(grid[::CHECKED]), strict=True)
    said = [f"at {at} there is {name or 'none'}, or {other or 'none'}" for at, name, other in singly if name != other]
    for name, at in zip(names, grid, strict=True):
        hits.setdefault(name, []).append(at)

    async def is_owed(name: str) -> bool:
        return len(hits.get(name, ())) >= SIZABLE and await reached.is_sizable(name, hits[name])

    for mode, seen in observed.items():
        controls = [node for node in seen.nodes.values() if node["role"]["value"] != "StaticText"]
        places = {node["name"]["value"].split(" ")[0]: node["union_bound"] for node in controls}
        centers = {name: (int(x + w / 2), int(y + h / 2)) for name, (x, y, w, h) in places.items()}
        centers = {name: at for name, at in centers.items() if name[:1] in "cw" and name.strip("cw").isdecimal()}
        below = [(x + 1, y + 1) for x, y in centers.values()]  # half pixels are rounded one way or the other
        found_there = zip(await reached.at([*centers.values()]), await reached.at(below), strict=True)
        for name, (found, other) in zip(centers, found_there, strict=True):
            if name not in (found, other) and (mode == "marks" or await is_owed(name)):
                said.append(
                    f"{mode}: {name} has the box {[round(side) for side in places[name]]}, there is {found or 'none'}"
                )
        missing = sorted({name for name in hits if name} - set(places))
        said += [f"{mode}: {name} has no number" for name in missing if await is_owed(name)]
    return said


def look(browser: OneBrowser, url: str, seeds: Iterable[int]) -> dict[int, list[str]]:
    """The disagreements by seed."""

    async def run() -> dict[int, list[str]]:
        found = {}
        async with browser.page(f"{url}/start") as page:
            for seed in seeds:
                await page.goto(f"{url}/{seed}")
                await page.run(_LOADED)
                found[seed] = await disagreements(page)
        return {seed: said for seed, said in found.items() if said}

    return browser.wait(run())


def test_tree_and_marks_are_where_a_press_reaches(browser: OneBrowser, drawn: str) -> None:
    assert look(browser, drawn, [0, 1, 926]) == {}  # of 926 an edge runs through the middle of a box


@pytest.mark.slow
def test_on_two_thousand_pages(browser: OneBrowser, drawn: str) -> None:
    first, last = os.environ.get("ELCANO_PAGES", "0-2000").split("-")
    assert look(browser, drawn, range(int(first), int(last))) == {}

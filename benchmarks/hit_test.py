"""What it costs to prove that a click hits what was chosen, beside a click at the center of the element's box.

    python -m benchmarks.hit_test --output hit_test.json

Both sides click the same button in the same page, in turns: in a page of 300 nodes, in a list that cuts off its end, in
a frame, and in a page with ten frames. The difference is that of each pair.
"""

import asyncio
import dataclasses
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks.collection_site import Site
from benchmarks.figures import Figure, plain, watched
from common import cli
from common.files import write_json
from environments.browser.acting import pointer
from environments.browser.acting.aim import aim, press
from environments.browser.chromium.cdp import Params
from environments.browser.fleet import Fleet
from environments.browser.observation.frame_place import place_of
from environments.browser.page.page import Page, Viewport
from environments.browser.page.settle import settle

_CENTER = (
    "function () { const box = this.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2] }"
)
_BUTTON = "<button id=it style='width:90px;height:20px'>It</button>"
_FRAME = f"<iframe srcdoc=\"{_BUTTON}\" style='width:200px;height:40px'></iframe>"
PAGES = {
    "page": _BUTTON,
    "list": f"<div style='height:60px;overflow:auto'>{_BUTTON}<p style='height:500px'></p></div>",
    "frame": _FRAME,
    "ten_frames": _BUTTON + _FRAME * 10,
}


@dataclasses.dataclass(frozen=True)
class Config:
    """Time clicks."""

    clicks: int = 300
    """Of each side in each page."""
    repeats: int = 3
    """Turns of which the medians are told with their range."""
    output: Path = Path("hit_test.json")
    """A JSON file for the numbers."""


def main(config: Config) -> None:
    """Measure, print, write."""
    with Site() as site, watched(config.repeats) as load, tempfile.TemporaryDirectory() as folder:
        rows = asyncio.run(_measure(config, site.url("n300"), Path(folder)))
    write_json(config.output, {"load": dataclasses.asdict(load), "ms": plain(rows)})
    for row in rows:
        print(f"{row['page']:12} center {row['center']} ms   proven {row['proven']} ms   more {row['more']} ms")
    print(load)


async def _measure(config: Config, url: str, folder: Path) -> list[dict]:
    rows = []
    async with Fleet(1, True, Viewport()) as fleet, fleet.page(0, folder) as page:
        for name, html in PAGES.items():
            await page.goto(url)
            await settle(page)
            await page.run("(html) => document.body.insertAdjacentHTML('afterbegin', html)", html)
            await settle(page)
            frame = list(page.frames)[1] if name == "frame" else page.frames.main
            await page.run("() => { elcano.marks[0] = document.getElementById('it') }", frame=frame)
            node = {"mark": 0, "frameId": frame.id}
            turns = [await _turn(page, node, config.clicks) for _ in range(config.repeats)]
            center, proven, more = (Figure.of(values) for values in zip(*turns, strict=True))
            rows.append({"page": name, "center": center, "proven": proven, "more": more})
    return rows


async def _turn(page: Page, node: Params, clicks: int) -> tuple[float, float, float]:
    """Medians in ms of both sides, and of how much more the second takes in a pair."""
    pairs = [(await _time(_at_center, page, node), await _time(_proven, page, node)) for _ in range(clicks)]
    centers, provens = zip(*pairs, strict=True)
    return statistics.median(centers), statistics.median(provens), statistics.median(b - a for a, b in pairs)


async def _time(click: Callable[[Page, Params], Awaitable[None]], page: Page, node: Params) -> float:
    start = time.perf_counter()
    await click(page, node)
    return (time.perf_counter() - start) * 1000


async def _at_center(page: Page, node: Params) -> None:
    place = await place_of(page, page.frame_of(node))
    await pointer.click(page, place.outside(tuple(await page.run_on(node, _CENTER))))


async def _proven(page: Page, node: Params) -> None:
    await press(page, node, await aim(page, node))


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)

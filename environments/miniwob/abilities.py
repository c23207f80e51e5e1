"""Which of MiniWoB++'s tasks each action space can do, and why not the others: python -m environments.miniwob.abilities

Opens every task with some seeds, and asks which of its controls have a number in the tree and on the marks: a field
without a name has none in OpenWebVoyager's tree. The rest is known from the pages' sources (`needs.py`). Writes the
table as Markdown. It speaks of what is there as a task begins.
"""

import asyncio
import dataclasses
from collections import defaultdict
from pathlib import Path

from common import cli
from common.files import read_object, write_atomic, write_json
from common.options.limits import Checked
from common.processes import served
from data.action_spaces import action_space, action_space_names
from data.observation import Mode, Visibility
from data.task import Task, move_sites
from environments.browser.fleet import Fleet
from environments.browser.observation.observe import observe
from environments.browser.page.page import Page, Viewport
from environments.browser.page.settle import settle
from environments.miniwob.app import address, task_names
from environments.miniwob.needs import MEANINGS, lacks

_HERE = Path(__file__).parent
MEASURED = _HERE / "measured.json"
MOST = 4  # controls that are named
_SHOWN: dict[str, tuple[Visibility, Mode]] = {
    "released tree": ("released", "tree"),
    "complete tree": ("complete", "tree"),
    "marks": ("released", "marks"),
}


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Write the table."""

    output: Path = Path("docs/reference/miniwob_tasks.md")
    """The Markdown file."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """What is missing with any of these counts."""
    measure: bool = True
    """Open the pages; else the table is made of what was measured last."""


def main(config: Config) -> None:
    """Measure where that is wanted, and write."""
    if config.measure:
        with served("environments.miniwob") as port:
            write_json(MEASURED, asyncio.run(_measure(port, config.seeds)), indent=1)
    write_atomic(config.output, table())
    print(f"{config.output}: {len(measured())} tasks")


def measured() -> dict[str, dict[str, list[str]]]:
    """By task: `lacking`, what can be shown that leaves a control without a number, and `controls`, the first of those
    that have none in the complete tree."""
    return read_object(MEASURED)


def doable(space: str, shown: str = "complete tree") -> list[str]:
    """The tasks that an agent can do in this action space, shown this."""
    return [name for name, found in measured().items() if not lacks(name, space, shown in found["lacking"])]


def measured_tasks() -> list[str]:
    """All but the airlines' forms, which stand in frames."""
    return [name for name in task_names() if not name.startswith("flight.")]


def columns() -> list[tuple[str, str, str]]:
    """(heading, action space, what is shown) of each kind of agent but those of phones."""
    others = [name for name in action_space_names() if name != "webvoyager" and not action_space(name).has_home]
    by_numbers = [(f"webvoyager, {shown}", "webvoyager", shown) for shown in _SHOWN]
    return [*by_numbers, *((name, name, "complete tree") for name in others)]


def table() -> str:
    """Of what was measured."""
    rows, counts = [], defaultdict(int)
    for name, found in measured().items():
        cells = []
        for heading, space, shown in columns():
            lacking = lacks(name, space, shown in found["lacking"])
            counts[heading] += not lacking
            cells.append(", ".join(lacking) or "✓")
        missing = " ".join(f"`{control}`" for control in found["controls"])
        rows.append(f"| {name} | {' | '.join(cells)} | {missing} |")
    headings = [heading for heading, _, _ in columns()]
    words = "\n".join(f"- **{word}**: {meaning}" for word, meaning in MEANINGS.items())
    total = " | ".join(f"**{counts[heading]}**" for heading in headings)
    return (
        "# MiniWoB++: what each action space can do\n\n"
        "Made by `python -m environments.miniwob.abilities`. A cell says what is missing, ✓ that nothing is.\n"
        "Controls are those of a page as its task begins. The airlines' forms (`flight.*`), in frames, are not\n"
        "among the tasks. The complete tree is `--tree_visibility complete`, marks are `--observation marks`; `webrl`\n"
        "reads the complete tree.\n\n"
        f"{words}\n\n"
        f"| task | {' | '.join(headings)} | controls without a number in the complete tree |\n"
        f"|{'---|' * (len(headings) + 2)}\n"
        f"| **of {len(rows)}** | {total} | |\n" + "\n".join(rows) + "\n"
    )


async def _measure(port: int, seeds: tuple[int, ...]) -> dict[str, dict[str, list[str]]]:
    found = {}
    async with Fleet(1, headless=True, viewport=Viewport()) as fleet, fleet.page(0, Path()) as page:
        source = (_HERE / "heard.js").read_text()
        await page.send("Page.addScriptToEvaluateOnNewDocument", {"source": source})
        for name in measured_tasks():
            without: dict[str, set[str]] = {shown: set() for shown in _SHOWN}
            for seed in seeds:
                await page.goto(move_sites([Task("x", "q", address(name, seed))], port)[0].web)
                await settle(page)
                for shown, how in _SHOWN.items():
                    without[shown] |= set(await _unnumbered(page, *how))
            lacking = [shown for shown, controls in without.items() if controls]
            found[name] = {"lacking": lacking, "controls": sorted(without["complete tree"])[:MOST]}
    return found


async def _unnumbered(page: Page, visibility: Visibility, mode: Mode) -> list[str]:
    seen = await observe(page, visibility, mode)
    boxes = [node["union_bound"] for node in seen.nodes.values() if node["role"]["value"] != "RootWebArea"]
    return await page.run((_HERE / "unnumbered.js").read_text(), boxes)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)

"""How many pixels off a model points: numbered buttons on a blank page, one of which it is to click.

    python collection/measure_pointing.py --api_base http://localhost:8000/v1 --api_model qwen3-vl-8b \\
        --action_space qwen_computer_use

A wrong scale shows at once: errors that grow with the distance from the top left corner, named in the last line. The
numbers a model says stand in --output, one line a button.
"""

import asyncio
import dataclasses
import json
import math
import random
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from collection.agent.policy import Policy
from collection.campaign.options import make_policy
from collection.config.commands import PolicyFlags
from common.cli import run
from common.errors import UserError
from common.key_flags import hide_keys
from common.limits import above, at_least
from common.progress import Reporter
from data.action import ActionError
from data.action_spaces import action_space
from data.action_spaces.space import ActionSpace
from data.conversation import StepText
from data.point_action import ActionRecord, ClickAt
from data.task import Task
from environments.browser.config import BrowserConfig
from environments.browser.environment import BrowserEnvironment
from environments.browser.fleet import Fleet
from environments.browser.page.page import Page, Viewport

_BUTTONS = 12  # on the page at a time
_DRAW = """(boxes) => {
    document.body.replaceChildren(...boxes.map(([name, left, top, width, height]) => {
        const button = document.createElement("button");
        button.textContent = name;
        Object.assign(button.style, {position: "fixed", left: `${left}px`, top: `${top}px`, width: `${width}px`,
            height: `${height}px`, padding: 0});
        button.onclick = () => (elcano.hit = name);
        return button;
    }));
    elcano.hit = "";
}"""


@dataclass(frozen=True, kw_only=True)
class PointingConfig(PolicyFlags):
    """Flags of `measure_pointing.py`; those of the endpoint are the collectors'."""

    action_space: str = "qwen_computer_use"
    """How it says where: `qwen_computer_use`, `openwebrl`, `webgym` or `ui_tars` (docs/reference/action_spaces.md)."""
    num_targets: Annotated[int, at_least(1)] = 50
    """Buttons that it is asked to click, each on a page of its own."""
    window_width: Annotated[int, at_least(300)] = 1280
    """Viewport width in CSS pixels."""
    window_height: Annotated[int, at_least(300)] = 1000
    """Viewport height in CSS pixels."""
    device_scale: Annotated[float, above(0)] = 1.0
    """Pixels of the screenshot for one CSS pixel."""
    output: Path | None = None
    """A JSONL file of what was asked and answered."""


@dataclass(frozen=True)
class Pointed:
    """One answer: the button's box, the point that was named (None: none), and whether the click hit the button."""

    name: str
    box: tuple[int, int, int, int]
    reply: str
    action: dict[str, Any] | None
    hit: bool

    @property
    def css(self) -> tuple[float, float]:
        """The point that was named, in CSS pixels."""
        assert self.action is not None
        return self.action["css"][0]

    @property
    def offset(self) -> tuple[float, float]:
        """From the button's center, in CSS pixels."""
        left, top, width, height = self.box
        x, y = self.css
        return x - left - width / 2, y - top - height / 2


def main(config: PointingConfig) -> None:
    """Ask, then print how far off the answers are."""
    space = action_space(config.action_space)
    if space.scale is None:
        raise UserError("--action_space: one with coordinates, such as qwen_computer_use")
    found = asyncio.run(measure(config, space))
    if config.output:
        config.output.write_text("".join(json.dumps(dataclasses.asdict(one)) + "\n" for one in found))
    print(report(found))


async def measure(config: PointingConfig, space: ActionSpace) -> list[Pointed]:
    """All answers, in order."""
    policy = make_policy(config)
    viewport = Viewport(config.window_width, config.window_height, config.device_scale)
    generator, say = random.Random(config.seed or 0), Reporter("buttons", config.num_targets)
    try:
        await policy.check()
        with tempfile.TemporaryDirectory() as folder:
            async with Fleet(1, headless=True, viewport=viewport) as fleet, fleet.page(0, Path(folder)) as page:
                found = []
                for number in range(1, config.num_targets + 1):
                    found.append(await _ask(page, policy, space, _layout(generator, viewport), number))
                    say(number)
                return found
    finally:
        await policy.close()


async def _ask(page: Page, policy: Policy, space: ActionSpace, boxes: list[tuple[Any, ...]], number: int) -> Pointed:
    assert space.scale is not None
    name, *box = boxes[0]
    await page.run(_DRAW, boxes)
    environment = BrowserEnvironment(page, BrowserConfig(viewport=page.viewport))
    seen = await environment.observe()
    task = Task(f"point--{number}", f"Click the button that reads {name}.", "about:blank")
    steps, screenshots = [StepText(seen.screen_text)], {1: seen.screenshot_base64}
    reply = (await policy.reply(task, task.id, steps, screenshots, None)).text
    try:
        clicks = [action for action in space.parse(reply, seen.screen).actions if isinstance(action, ClickAt)]
    except ActionError:
        clicks = []
    if not clicks:
        return Pointed(name, tuple(box), reply, None, False)
    record = ActionRecord.of(space.name, space.scale, seen.screen, clicks[0])
    await page.run("(x, y) => document.elementFromPoint(x, y).click()", clicks[0].at.x, clicks[0].at.y)
    hit = await page.run("() => elcano.hit")
    return Pointed(name, tuple(box), reply, dataclasses.asdict(record), hit == name)


def _layout(generator: random.Random, viewport: Viewport) -> list[tuple[Any, ...]]:
    """Buttons that do not overlap, in a grid of cells: (name, left, top, width, height)."""
    across, down = viewport.width // 4, viewport.height // 3
    cells = [(column * across, row * down) for column in range(4) for row in range(3)]
    names = generator.sample(range(100, 1000), _BUTTONS)
    boxes = []
    for name, (left, top) in zip(names, generator.sample(cells, _BUTTONS), strict=True):
        width, height = generator.randrange(40, across // 2, 2), generator.randrange(20, min(down // 2, 80), 2)
        boxes.append(
            (
                str(name),
                left + generator.randrange(across - width),
                top + generator.randrange(down - height),
                width,
                height,
            )
        )
    return boxes


def report(found: list[Pointed]) -> str:
    """Hits, errors in CSS pixels, and the scale that would fit the answers better."""
    named = [one for one in found if one.action]
    lines = [f"{sum(one.hit for one in found)} of {len(found)} buttons hit, {len(found) - len(named)} without a click"]
    if named:
        errors = sorted(math.hypot(*one.offset) for one in named)
        lines.append(
            f"error from the center: median {statistics.median(errors):.2f} px, "
            f"95 % within {errors[math.ceil(0.95 * len(errors)) - 1]:.2f} px, most {errors[-1]:.2f} px"
        )
        ratios = []
        for axis in (0, 1):
            centers = [one.box[axis] + one.box[axis + 2] / 2 for one in named]
            said = [one.css[axis] for one in named]
            ratios.append(sum(a * b for a, b in zip(said, centers, strict=True)) / sum(b * b for b in centers))
        lines.append(f"its points lie at {ratios[0]:.4f} times the true distance across and {ratios[1]:.4f} times down")
    elif found:
        lines.append(f"the first reply: {found[0].reply[:200]!r}")
    return "\n".join(lines)


if __name__ == "__main__":
    hide_keys()
    run(PointingConfig, main, description=__doc__)
